/*
 * Kinds of files that wait otherwise than pipes and sockets: terminals, FIFOs
 * that are opened by path, inotify, timerfd, /proc. Many threads wait, each for
 * a file of its own, and main goes on meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 12, NR_LINES = 20 };

static _Atomic int is_ready, nr_done;

/* A new folder, removed with what it has at the end of the case. */
static char folder[] = "/tmp/weft-kinds-XXXXXX";
static char paths[NR_THREADS][sizeof(folder) + 8];

static void make_folder(void)
{
	CHECK(mkdtemp(folder) != NULL);
	for (int i = 0; i < NR_THREADS; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%d", folder, i);
}

static void remove_folder(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		unlink(paths[i]);
	CHECK_EQ(rmdir(folder), 0);
}

/* --- terminals ----------------------------------------------------------- */

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

/* Answers each line, as a program at a terminal does. */
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

		/* Half a line is none. */
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

/* VMIN and VTIME are the terminal's own idea of when a read has an end. */
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

/* The other side has gone. */
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

TEST(terminal_takes_what_is_read)
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

/* --- FIFOs by path ------------------------------------------------------- */

static void *read_fifo(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char text[16] = "", back[16];
	int fd;

	is_ready++;
	fd = open(paths[i], O_RDONLY); /* until there is a writer */
	CHECK(fd >= 0);
	CHECK_EQ(read(fd, text, 5), 5);
	snprintf(back, sizeof(back), "%05d", (int)i);
	CHECK(strcmp(text, back) == 0);
	CHECK_EQ(read(fd, text, 5), 0);
	CHECK_EQ(close(fd), 0);
	return NULL;
}

TEST(fifos_wait_for_their_other_end)
{
	pthread_t threads[NR_THREADS];

	make_folder();
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(mkfifo(paths[i], 0600), 0);
	CHECK_ERRNO(open(paths[0], O_WRONLY | O_NONBLOCK), ENXIO);
	threads_start_numbered(threads, NR_THREADS, read_fifo);
	await_count(&is_ready, NR_THREADS);
	sleep_ms(20);
	for (int i = NR_THREADS - 1; i >= 0; i--) {
		int fd = open(paths[i], O_WRONLY);
		char text[16];

		CHECK(fd >= 0);
		sleep_ms(2);
		snprintf(text, sizeof(text), "%05d", i);
		CHECK_EQ(write(fd, text, 5), 5);
		CHECK_EQ(close(fd), 0);
	}
	threads_join(threads, NR_THREADS);
	remove_folder();
}

static void *write_fifo(void *arg)
{
	static char data[300000];
	int fd = open(paths[0], O_WRONLY);

	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	CHECK_EQ(close(fd), 0);
	return arg;
}

TEST(fifo_takes_what_is_read)
{
	pthread_t thread;
	char buf[10000];
	size_t all = 0;
	ssize_t n;
	int fd;

	make_folder();
	CHECK_EQ(mkfifo(paths[0], 0600), 0);
	thread = thread_start(write_fifo, NULL);
	fd = open(paths[0], O_RDONLY);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		all += (size_t)n;
	CHECK_EQ(n, 0);
	CHECK_EQ(all, 300000);
	thread_join(thread);
	remove_folder();
}

/* --- inotify, timerfd, /proc --------------------------------------------- */

static int watcher;

static void *read_changes(void *arg)
{
	char buf[4096]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *event = (const void *)buf;

	for (int i = 0; i < NR_THREADS; i++) {
		is_ready = 1;
		CHECK(read(watcher, buf, sizeof(buf)) > 0);
		CHECK((event->mask & IN_CREATE) != 0);
		CHECK_EQ(atoi(event->name), i);
		nr_done++;
	}
	return arg;
}

TEST(changes_of_a_folder)
{
	pthread_t thread;

	make_folder();
	watcher = inotify_init1(IN_CLOEXEC);
	CHECK(inotify_add_watch(watcher, folder, IN_CREATE) >= 0);
	thread = thread_start(read_changes, NULL);
	let_it_wait(&is_ready);
	for (int i = 0; i < NR_THREADS; i++) {
		struct pollfd none = { watcher, POLLIN, 0 };

		CHECK_EQ(poll(&none, 1, 0), 0);
		CHECK_EQ(close(open(paths[i], O_CREAT | O_WRONLY, 0600)), 0);
		await_count(&nr_done, i + 1);
	}
	thread_join(thread);
	remove_folder();
}

static void *read_expirations(void *arg)
{
	struct itimerspec every = { { 0, 2000000 }, { 0, 2000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t all = 0, nr;

	CHECK_EQ(timerfd_settime(fd, 0, &every, NULL), 0);
	while (all < NR_LINES) {
		CHECK_EQ(read(fd, &nr, sizeof(nr)), sizeof(nr));
		CHECK(nr > 0);
		all += nr;
	}
	CHECK_EQ(close(fd), 0);
	return arg;
}

TEST(timers_that_are_read)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, read_expirations);
	threads_join(threads, NR_THREADS);
}

static void *read_status(void *arg)
{
	char text[4096], name[64];

	snprintf(name, sizeof(name), "\nPid:\t%d\n", getpid());
	for (int i = 0; i < 50; i++) {
		int fd = open("/proc/self/status", O_RDONLY);
		ssize_t n = 0, part;

		while ((part = read(fd, text + n, 100)) > 0)
			n += part;
		CHECK_EQ(part, 0);
		text[n] = 0;
		CHECK(strstr(text, name) != NULL);
		CHECK_EQ(close(fd), 0);
	}
	return arg;
}

TEST(status_of_the_process)
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, read_status, NULL);
	threads_join(threads, NR_THREADS);
}

static void *wait_for_mounts(void *arg)
{
	struct pollfd fd = { open("/proc/self/mounts", O_RDONLY), POLLPRI, 0 };

	is_ready = 1;
	/* Nothing is mounted; a file of /proc that poll knows how to ask. */
	CHECK_EQ(poll(&fd, 1, 50), 0);
	fd.events = POLLIN;
	CHECK_EQ(poll(&fd, 1, -1), 1);
	CHECK_EQ(close(fd.fd), 0);
	return arg;
}

TEST(poll_of_mounts)
{
	thread_join(thread_start(wait_for_mounts, NULL));
}
