/* SPDX-License-Identifier: MIT */
/* Acts with signals, processes and descriptors. */
#include "torture.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

#define NR_PIPES 3
#define TOKENS_PER_PIPE 3

extern char **environ;

/* --- signals -------------------------------------------------------------- */

static const int queued_signals[] = { 1, 2 }; /* offsets from SIGRTMIN */
static _Atomic long nr_queued, sum_queued;    /* sent but not yet handled */
static _Atomic long nr_in_handlers;
static sem_t is_handled;
static int pipes[NR_PIPES][2];

/* Makes the calls that handlers are allowed to make, waits among them. */
static void on_plain(int sig)
{
	static _Atomic uint64_t nr;
	int saved = errno, state;
	uint64_t random = ++nr;
	struct timespec ts = { 0, random_below(&random, 30000) };

	/* A thread that is cancelled here would stay in the count. */
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
	nr_in_handlers++;
	switch (random_below(&random, 6)) {
	case 0:
		nanosleep(&ts, NULL);
		break;
	case 1:
		sem_post(&is_handled);
		sem_trywait(&is_handled);
		break;
	case 2:
		poll(NULL, 0, 0);
		break;
	default:
		break;
	}
	nr_in_handlers--;
	CHECK_EQ(pthread_setcancelstate(state, NULL), 0);
	errno = saved;
}

static void on_queued(int sig, siginfo_t *info, void *context)
{
	CHECK_EQ(info->si_code, SI_QUEUE);
	sum_queued -= info->si_value.sival_int;
	nr_queued--;
}

static void count_queued(int value, int by)
{
	sum_queued += by * value;
	nr_queued += by;
}

static void install(int sig, void (*plain)(int),
		    void (*full)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_flags = flags };

	if (plain != NULL) {
		action.sa_handler = plain;
	} else {
		action.sa_sigaction = full;
		action.sa_flags |= SA_SIGINFO;
	}
	CHECK_EQ(sigaction(sig, &action, NULL), 0);
}

static pthread_t any_worker(uint64_t *random)
{
	return torture_worker(random_below(random, torture_nr_workers()));
}

/* The kernel's limit on queued signals may be reached. */
static void check_sent(int err, int value)
{
	CHECK(err == 0 || err == EAGAIN);
	if (err != 0)
		count_queued(value, -1);
}

void signal_worker(uint64_t *random)
{
	union sigval value = { .sival_int = (int)random_below(random, 1000) };
	pthread_t thread = any_worker(random);

	switch (random_below(random, 3)) {
	case 0:
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		break;
	case 1:
		CHECK_EQ(pthread_kill(thread, SIGUSR2), 0);
		break;
	default:
		count_queued(value.sival_int, 1);
		check_sent(pthread_sigqueue(
				   thread, SIGRTMIN + queued_signals[0], value),
			   value.sival_int);
		break;
	}
}

void signal_process(uint64_t *random)
{
	union sigval value = { .sival_int = (int)random_below(random, 1000) };
	int sig = SIGRTMIN + queued_signals[random_below(random, 2)];

	switch (random_below(random, 3)) {
	case 0:
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		break;
	case 1:
		CHECK_EQ(kill(getpid(), SIGUSR2), 0);
		break;
	default:
		count_queued(value.sival_int, 1);
		check_sent(sigqueue(getpid(), sig, value) == 0 ? 0 : errno,
			   value.sival_int);
		break;
	}
}

void use_timer(uint64_t *random)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	struct itimerspec spec = { { 0, 0 },
				   { 0, 1 + random_below(random, 100000) } };
	timer_t timer;

	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
	stress_disturb(random);
	CHECK_EQ(timer_delete(timer), 0);
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	while (sigwaitinfo(&set, &info) < 0)
		CHECK_EQ(errno, EINTR);
	return (void *)(intptr_t)info.si_value.sival_int;
}

/* All threads block this signal. */
void use_sigwait(uint64_t *random)
{
	union sigval value = { .sival_int = (int)random_below(random, 1000) };
	pthread_t thread = torture_start(random, wait_for_signal, NULL);

	stress_disturb(random);
	CHECK_EQ(pthread_sigqueue(thread, SIGRTMIN + 3, value), 0);
	CHECK_EQ((intptr_t)thread_join(thread), value.sival_int);
}

/* --- processes ------------------------------------------------------------ */

static pid_t wait_child(pid_t child, int *ret_status)
{
	pid_t pid;

	do {
		pid = waitpid(child, ret_status, 0);
	} while (pid < 0 && errno == EINTR);
	return pid;
}

static void check_child(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(wait_child(child, &status), child);
	CHECK_EQ(status, 0);
}

static void *rise(void *arg)
{
	void *block = malloc(2000);

	CHECK(block != NULL);
	free(block);
	CHECK_EQ(sem_post(arg), 0);
	return arg;
}

static void use_threads(uint64_t *random)
{
	pthread_t threads[4];
	sem_t sem;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	for (int i = 0; i < 4; i++)
		threads[i] = torture_start(random, rise, &sem);
	for (int i = 0; i < 4; i++)
		while (sem_wait(&sem) != 0)
			CHECK_EQ(errno, EINTR);
	threads_join(threads, 4);
}

static void be_child(uint64_t *random, int depth)
{
	if (random_below(random, 2) == 0)
		use_threads(random);
	while (depth < 2 && random_below(random, 3) == 0) {
		pid_t child = fork();

		depth++;
		if (child == 0)
			continue;
		check_child(child);
		break;
	}
	if (random_below(random, 3) == 0)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

void fork_child(uint64_t *random)
{
	pid_t child = fork();

	if (child == 0)
		be_child(random, 0);
	check_child(child);
}

/* The child reports its progress in its parent's memory. */
void vfork_and_exec(uint64_t *random)
{
	bool executes = random_below(random, 2) == 0;
	volatile int nr_steps = 0;
	pid_t child;
	int state;

	/* Otherwise the child could be cancelled instead of its parent. */
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
	child = vfork();
	if (child == 0) {
		nr_steps++;
		close(pipes[0][0]); /* its own copy */
		if (executes)
			execl("/bin/true", "true", (char *)NULL);
		nr_steps++;
		_exit(0);
	}
	CHECK(child > 0);
	/* More vfork children than weft allows at a time get copies. */
	CHECK(nr_steps == 0 || nr_steps == (executes ? 1 : 2));
	CHECK_EQ(pthread_setcancelstate(state, NULL), 0);
	check_child(child);
}

void spawn_program(uint64_t *random)
{
	char *const argv[] = { "true", NULL };
	pid_t child;

	CHECK_EQ(posix_spawnp(&child, "true", NULL, NULL, argv, environ), 0);
	check_child(child);
}

void change_ids(uint64_t *random)
{
	CHECK_EQ(setegid(getegid()), 0);
	CHECK_EQ(seteuid(geteuid()), 0);
}

/* --- descriptors ---------------------------------------------------------- */

ssize_t torture_read_byte(int fd, char *ret_byte)
{
	ssize_t n;

	do {
		n = read(fd, ret_byte, 1);
	} while (n < 0 && errno == EINTR);
	return n;
}

void torture_write_byte(int fd, char byte)
{
	ssize_t n;

	do {
		n = write(fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	CHECK_EQ(n, 1);
}

void move_token(uint64_t *random)
{
	int *ends = pipes[random_below(random, NR_PIPES)];
	char token = 0;

	CHECK_EQ(torture_read_byte(ends[0], &token), 1);
	CHECK_EQ(token, 't');
	stress_disturb(random);
	torture_write_byte(ends[1], token);
}

static int wait_by_epoll(int fd, int ms)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(EPOLL_CLOEXEC), nr;

	CHECK(set >= 0);
	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
	nr = epoll_wait(set, &event, 1, ms);
	if (nr < 0)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(close(set), 0);
	return nr;
}

static int wait_by_poll(int fd, int ms)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };
	int nr = poll(&pollfd, 1, ms);

	if (nr < 0)
		CHECK_EQ(errno, EINTR);
	return nr;
}

static int wait_by_select(int fd, int ms)
{
	struct timeval time = { 0, ms * 1000 };
	fd_set set;
	int nr;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	nr = select(fd + 1, &set, NULL, NULL, &time);
	if (nr < 0)
		CHECK_EQ(errno, EINTR);
	return nr;
}

static void *write_later(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	stress_disturb(&random);
	torture_write_byte((int)(intptr_t)arg, 'w');
	return NULL;
}

void wait_for_events(uint64_t *random)
{
	int (*const ways[])(int, int) = { wait_by_poll, wait_by_epoll,
					  wait_by_select };
	int (*wait_by)(int, int) = ways[random_below(random, 3)];
	pthread_t writer;
	int ends[2];
	char byte;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	CHECK(wait_by(ends[0], (int)random_below(random, 2)) <= 0);
	writer = torture_start(random, write_later, (void *)(intptr_t)ends[1]);
	while (wait_by(ends[0], 10000) < 0)
		;
	CHECK_EQ(torture_read_byte(ends[0], &byte), 1);
	thread_join(writer);
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(close(ends[1]), 0);
}

struct wait_on_file {
	_Atomic int is_waiting;
	int fd;
};

static void *read_one(void *arg)
{
	struct wait_on_file *w = arg;
	char byte = 0;

	w->is_waiting = 1;
	CHECK_EQ(torture_read_byte(w->fd, &byte), 1);
	return (void *)(intptr_t)byte;
}

/*
 * Before, while, or just after a thread begins to wait, the number becomes
 * another file's. The reader gets a byte of one of the two files.
 */
void replace_number(uint64_t *random)
{
	struct wait_on_file w = { .is_waiting = 0 };
	int old[2], new[2];
	pthread_t reader;
	intptr_t byte;

	CHECK_EQ(pipe2(old, O_CLOEXEC), 0);
	CHECK_EQ(pipe2(new, O_CLOEXEC), 0);
	w.fd = old[0];
	reader = torture_start(random, read_one, &w);
	while (!w.is_waiting)
		sched_yield();
	stress_disturb(random);
	CHECK_EQ(dup2(new[0], old[0]), old[0]);
	torture_write_byte(new[1], 'n');
	if (write(old[1], "o", 1) != 1)
		CHECK(errno == EPIPE || errno == EINTR);
	byte = (intptr_t)thread_join(reader);
	CHECK(byte == 'o' || byte == 'n');
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(close(old[i]), 0);
		CHECK_EQ(close(new[i]), 0);
	}
}

/* --- begin and end -------------------------------------------------------- */

void torture_kernel_begin(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(sem_init(&is_handled, 0, 0), 0);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	install(SIGUSR1, on_plain, NULL, SA_RESTART);
	install(SIGUSR2, on_plain, NULL, 0);
	for (int i = 0; i < 2; i++)
		install(SIGRTMIN + queued_signals[i], NULL, on_queued,
			SA_RESTART);
	for (int i = 0; i < NR_PIPES; i++) {
		CHECK_EQ(pipe2(pipes[i], O_CLOEXEC), 0);
		for (int n = 0; n < TOKENS_PER_PIPE; n++)
			torture_write_byte(pipes[i][1], 't');
	}
}

void torture_kernel_check(void)
{
	while (nr_queued != 0 || nr_in_handlers != 0)
		sleep_ms(1);
	CHECK_EQ(sum_queued, 0);
	for (int i = 0; i < NR_PIPES; i++) {
		char tokens[2 * TOKENS_PER_PIPE];

		CHECK_EQ(read(pipes[i][0], tokens, sizeof(tokens)),
			 TOKENS_PER_PIPE);
	}
}
