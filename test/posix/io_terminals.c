/* SPDX-License-Identifier: MIT */
/*
 * Terminals: their lines and limits, jobs, hang-ups. Many threads wait, each at
 * a different terminal, and main runs meanwhile.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"
#include "kernel_threads.h"
#include "threading.h"

enum { NR_THREADS = 12, NR_LINES = 20 };

static _Atomic int is_ready, nr_done;

struct terminal {
	int master, slave;
};
static struct terminal terminals[NR_THREADS];

static void open_terminal(struct terminal *t, bool is_raw)
{
	struct termios mode;

	t->master = posix_openpt(O_RDWR | O_NOCTTY);
	if (t->master < 0)
		SKIP("there are no terminals");
	CHECK_EQ(grantpt(t->master), 0);
	CHECK_EQ(unlockpt(t->master), 0);
	t->slave = open(ptsname(t->master), O_RDWR | O_NOCTTY);
	CHECK(t->slave >= 0);
	CHECK_EQ(tcgetattr(t->slave, &mode), 0);
	mode.c_lflag &= (tcflag_t) ~(ECHO | (is_raw ? ICANON | ISIG : 0));
	mode.c_oflag &= (tcflag_t)~OPOST;
	CHECK_EQ(tcsetattr(t->slave, TCSANOW, &mode), 0);
}

/* Answers each line, as a program on a terminal does. */
static void *answer_lines(void *arg)
{
	const struct terminal *t = arg;
	char line[64];

	for (int i = 0; i < NR_LINES; i++) {
		ssize_t n = read(t->slave, line, sizeof(line));

		CHECK(n > 1 && line[n - 1] == '\n');
		CHECK_EQ(atoi(line), i);
		CHECK_EQ(write(t->slave, line, (size_t)n), n);
	}
	nr_done++;
	return NULL;
}

TEST(lines_of_terminals)
{
	pthread_t threads[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++) {
		open_terminal(&terminals[i], false);
		threads[i] = thread_start(answer_lines, &terminals[i]);
	}
	for (int line = 0; line < NR_LINES; line++) {
		char text[16], back[64];
		int bytes = snprintf(text, sizeof(text), "%d\n", line);

		/* A read of a line must not return half of it. */
		for (int i = 0; i < NR_THREADS; i++)
			CHECK_EQ(write(terminals[i].master, text, 1), 1);
		for (int i = 0; i < NR_THREADS; i++)
			CHECK_EQ(write(terminals[i].master, text + 1,
				       (size_t)bytes - 1),
				 bytes - 1);
		for (int i = 0; i < NR_THREADS; i++) {
			CHECK_EQ(read(terminals[i].master, back, sizeof(back)),
				 bytes);
			CHECK(memcmp(back, text, (size_t)bytes) == 0);
		}
	}
	threads_join(threads, NR_THREADS);
	CHECK_EQ(nr_done, NR_THREADS);
}

static void *read_terminal(void *arg)
{
	char buf[8];

	ssize_t n;

	is_ready = 1;
	n = read(terminals[0].slave, buf, sizeof(buf));
	return (void *)(intptr_t)(n < 0 ? -errno : n);
}

/* VMIN and VTIME decide when a read of a raw terminal ends. */
TEST(raw_terminal_with_its_own_limits)
{
	struct termios mode;
	pthread_t thread;

	open_terminal(&terminals[0], true);
	CHECK_EQ(tcgetattr(terminals[0].slave, &mode), 0);
	mode.c_cc[VMIN] = 3;
	mode.c_cc[VTIME] = 0;
	CHECK_EQ(tcsetattr(terminals[0].slave, TCSANOW, &mode), 0);
	thread = thread_start(read_terminal, NULL);
	for (int i = 0; i < 3; i++) {
		let_it_wait(&is_ready);
		CHECK_EQ(write(terminals[0].master, "x", 1), 1);
	}
	CHECK_EQ((intptr_t)thread_join(thread), 3);

	mode.c_cc[VMIN] = 0;
	mode.c_cc[VTIME] = 1;
	CHECK_EQ(tcsetattr(terminals[0].slave, TCSANOW, &mode), 0);
	CHECK_EQ((intptr_t)read_terminal(NULL), 0);
	CHECK_EQ(write(terminals[0].master, "y", 1), 1);
	CHECK_EQ((intptr_t)read_terminal(NULL), 1);
}

static void on_signal(int sig)
{
	nr_done++;
}

static void *read_and_expect_eintr(void *arg)
{
	char c;

	is_ready = 1;
	CHECK_ERRNO(read(terminals[0].slave, &c, 1), EINTR);
	return arg;
}

TEST(handler_ends_a_read_of_a_terminal)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	open_terminal(&terminals[0], false);
	thread = thread_start(read_and_expect_eintr, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	thread_join(thread);
	CHECK_EQ(nr_done, 1);
}

/* The master is closed while the reader waits. */
TEST(terminal_hangs_up)
{
	pthread_t thread;
	char c;

	open_terminal(&terminals[0], false);
	thread = thread_start(read_terminal, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(close(terminals[0].master), 0);
	CHECK_EQ((intptr_t)thread_join(thread), -EIO);
	CHECK_ERRNO(write(terminals[0].slave, &c, 1), EIO);
}

static void *fill_terminal(void *arg)
{
	static char data[64 << 10];

	memset(data, 'd', sizeof(data));
	CHECK_EQ(write(terminals[0].slave, data, sizeof(data)), sizeof(data));
	return arg;
}

TEST(terminal_takes_data_as_it_is_read)
{
	pthread_t thread;
	char buf[1000];
	size_t all = 0;

	open_terminal(&terminals[0], true);
	thread = thread_start(fill_terminal, NULL);
	while (all < 64 << 10) {
		ssize_t n = read(terminals[0].master, buf, sizeof(buf));

		CHECK(n > 0);
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ(buf[i], 'd');
		all += (size_t)n;
	}
	thread_join(thread);
}

/* --- job control --------------------------------------------------------- */

static void *read_line(void *arg)
{
	char line[8];

	CHECK_EQ(read(terminals[0].slave, line, sizeof(line)), 5);
	return arg;
}

/* Runs in a process group that is not the terminal's foreground group. */
static void run_job(void)
{
	CHECK_EQ(setpgid(0, 0), 0);
	thread_join(thread_start(read_line, NULL));
	_exit(0);
}

static void wait_for_stop(pid_t job, int sig)
{
	int status;

	CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == sig);
}

static void run_shell(void)
{
	int status;
	pid_t job;

	CHECK(setsid() > 0);
	CHECK_EQ(ioctl(terminals[0].slave, TIOCSCTTY, 0), 0);
	job = fork();
	if (job == 0)
		run_job();
	wait_for_stop(job, SIGTTIN);
	CHECK_EQ(tcsetpgrp(terminals[0].slave, job), 0);
	CHECK_EQ(kill(-job, SIGCONT), 0);
	await_rest_of(job);
	CHECK_EQ(write(terminals[0].master, "line\n", 5), 5);
	CHECK_EQ(waitpid(job, &status, 0), job);
	CHECK_EQ(status, 0);
	_exit(0);
}

/* A background job that reads is stopped, and continues in the foreground. */
TEST(terminal_stops_a_job)
{
	int status;
	pid_t shell;

	open_terminal(&terminals[0], false);
	shell = fork();
	if (shell == 0)
		run_shell();
	CHECK_EQ(waitpid(shell, &status, 0), shell);
	CHECK_EQ(status, 0);
}

static int in_front[2]; /* the job writes here when it is in the foreground */

static void run_job_in_front(void)
{
	CHECK_EQ(setpgid(0, 0), 0);
	while (tcgetpgrp(terminals[0].slave) != getpgrp())
		sleep_ms(1);
	CHECK_EQ(write(in_front[1], "", 1), 1);
	run_job();
}

static void run_shell_behind(void)
{
	int status;
	pid_t job;
	char c;

	CHECK(setsid() > 0);
	CHECK_EQ(ioctl(terminals[0].slave, TIOCSCTTY, 0), 0);
	CHECK(signal(SIGTTOU, SIG_IGN) != SIG_ERR);
	CHECK_EQ(pipe(in_front), 0);
	job = fork();
	if (job == 0)
		run_job_in_front();
	close(in_front[1]);
	setpgid(job, job);
	CHECK_EQ(tcsetpgrp(terminals[0].slave, job), 0);
	CHECK_EQ(read(in_front[0], &c, 1), 1);
	await_rest_of(job); /* the job reads now */
	CHECK_EQ(kill(-job, SIGSTOP), 0);
	wait_for_stop(job, SIGSTOP);
	CHECK_EQ(tcsetpgrp(terminals[0].slave, getpgrp()), 0);
	/* A stopped process reads nothing from the terminal. */
	CHECK_EQ(write(terminals[0].master, "mine\n", 5), 5);
	read_line(NULL);
	CHECK_EQ(kill(-job, SIGCONT), 0);
	wait_for_stop(job, SIGTTIN);
	CHECK_EQ(tcsetpgrp(terminals[0].slave, job), 0);
	CHECK_EQ(kill(-job, SIGCONT), 0);
	CHECK_EQ(write(terminals[0].master, "line\n", 5), 5);
	CHECK_EQ(waitpid(job, &status, 0), job);
	CHECK_EQ(status, 0);
	_exit(0);
}

/* The job is stopped while it reads, and then continues in the background. */
TEST(stopped_reader_of_a_terminal)
{
	int status;
	pid_t shell;

	open_terminal(&terminals[0], false);
	shell = fork();
	if (shell == 0)
		run_shell_behind();
	CHECK_EQ(waitpid(shell, &status, 0), shell);
	CHECK_EQ(status, 0);
}

/* --- many masters --------------------------------------------------------- */

enum { NR_MASTERS = 100 };

static void *read_master(void *arg)
{
	const struct terminal *t = arg;
	char c;

	nr_done++;
	CHECK_EQ(read(t->master, &c, 1), 1);
	CHECK_EQ(c, 'm');
	return NULL;
}

/*
 * A terminal emulator has a thread for each master; like sockets, these waits
 * must not take a kernel thread each.
 */
TEST(masters_take_no_kernel_threads)
{
	static struct terminal many[NR_MASTERS];
	pthread_t threads[NR_MASTERS];
	bool are_few;

	nr_done = 0;
	for (int i = 0; i < NR_MASTERS; i++) {
		open_terminal(&many[i], true);
		threads[i] = thread_start(read_master, &many[i]);
	}
	await_count(&nr_done, NR_MASTERS);
	await_rest();
	are_few = kernel_threads_are_fewer_than(NR_MASTERS);
	for (int i = 0; i < NR_MASTERS; i++)
		CHECK_EQ(write(many[i].slave, "m", 1), 1);
	threads_join(threads, NR_MASTERS);
	CHECK(are_few);
}

/* --- cancellation -------------------------------------------------------- */

/* Bytes that arrive after the cancellation go to the next reader. */
TEST(cancelled_reader)
{
	pthread_t thread;
	char c = 0;

	open_terminal(&terminals[0], true);
	thread = thread_start(read_terminal, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(write(terminals[0].master, "t", 1), 1);
	CHECK_EQ(read(terminals[0].slave, &c, 1), 1);
	CHECK_EQ(c, 't');
}
