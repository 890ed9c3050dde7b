/* SPDX-License-Identifier: MIT */
/*
 * Kinds of files that wait in other ways than pipes and sockets: FIFOs that are
 * opened by path, inotify, timerfd, /proc. Many threads wait, each for a
 * different file, while main runs.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "waiting.h"

enum { NR_THREADS = 12, NR_TIMES = 20 };

static _Atomic int nr_done;

/* A new folder, removed with its contents at the end of the case. */
static char folder[] = "/tmp/weft-kinds-XXXXXX";
static char paths[NR_THREADS][sizeof(folder) + 8];

static void remove_folder(void)
{
	for (int i = 0; i < NR_THREADS; i++)
		unlink(paths[i]);
	rmdir(folder);
}

static void make_folder(void)
{
	CHECK(mkdtemp(folder) != NULL);
	for (int i = 0; i < NR_THREADS; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%d", folder, i);
	check_at_end(remove_folder);
}

/* --- FIFOs by path ------------------------------------------------------- */

static void *read_fifo(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char text[16] = "", back[16];
	int fd;

	is_ready++;
	fd = open(paths[i], O_RDONLY); /* waits until there is a writer */
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
	await_rest();
	for (int i = NR_THREADS - 1; i >= 0; i--) {
		int fd = open(paths[i], O_WRONLY);
		char text[16];

		CHECK(fd >= 0);
		await_rest(); /* the thread reads now */
		snprintf(text, sizeof(text), "%05d", i);
		CHECK_EQ(write(fd, text, 5), 5);
		CHECK_EQ(close(fd), 0);
	}
	threads_join(threads, NR_THREADS);
}

static void *write_fifo(void *arg)
{
	static char data[300000];
	int fd = open(paths[0], O_WRONLY);

	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	CHECK_EQ(close(fd), 0);
	return arg;
}

TEST(fifo_takes_data_as_it_is_read)
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
}

/* When each page of a FIFO is in use, poll reports the FIFO as full. */
TEST(last_page_of_a_fifo_takes_more)
{
	static const char data[62000];
	int fd;

	have_threads();
	make_folder();
	CHECK_EQ(mkfifo(paths[0], 0600), 0);
	fd = open(paths[0], O_RDWR);
	CHECK(fd >= 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
		CHECK_EQ(write(fd, data, 8), 8);
		CHECK_EQ(read(fd, (char[sizeof(data) + 8]){ 0 },
			      sizeof(data) + 8),
			 sizeof(data) + 8);
	}
	CHECK_EQ(close(fd), 0);
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
}

static void *read_expirations(void *arg)
{
	struct itimerspec every = { { 0, 2000000 }, { 0, 2000000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t all = 0, nr;

	CHECK_EQ(timerfd_settime(fd, 0, &every, NULL), 0);
	while (all < NR_TIMES) {
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
	/*
	 * Nothing is mounted meanwhile, so this poll of a /proc file times out.
	 */
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

/* --- cancellation -------------------------------------------------------- */

static void *read_for_ever(void *fd)
{
	char c;

	is_ready = 1;
	return (void *)(intptr_t)read((int)(intptr_t)fd, &c, 1);
}

static void *open_for_ever(void *path)
{
	is_ready = 1;
	return (void *)(intptr_t)open(path, O_RDONLY);
}

/* Bytes that arrive after the cancellation go to the next reader. */
TEST(cancelled_readers)
{
	char c = 0;
	int fd;

	make_folder();
	watcher = inotify_init1(IN_CLOEXEC);
	is_cancelled_in(read_for_ever, (void *)(intptr_t)watcher);
	CHECK_EQ(mkfifo(paths[0], 0600), 0);
	is_cancelled_in(open_for_ever, paths[0]);
	fd = open(paths[0], O_RDWR);
	is_cancelled_in(read_for_ever, (void *)(intptr_t)fd);
	CHECK_EQ(write(fd, "f", 1), 1);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'f');
}
