/* SPDX-License-Identifier: MIT */
/*
 * weft's own descriptors, which it needs for waits. The program cannot use
 * their numbers, and a fork child has none of these files.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "waiting.h"

/* weft's own descriptors are above 1000 if the limit allows that. */
enum { MOST = 2048 };

static bool was_open[MOST];
static int pair[2];

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void note_open(void)
{
	for (int fd = 0; fd < MOST; fd++)
		was_open[fd] = is_open(fd);
}

static void *read_once(void *arg)
{
	char byte;

	is_ready = 1;
	CHECK_EQ(read(pair[0], &byte, 1), 1);
	return arg;
}

/*
 * Starts a wait for which each backend needs a descriptor of weft's: the
 * ring's, or the watcher's epoll set.
 */
static pthread_t start_reader(void)
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(read_once, NULL);
	let_it_wait(&is_ready);
	return thread;
}

static void end_reader(pthread_t thread)
{
	CHECK_EQ(write(pair[1], "x", 1), 1);
	thread_join(thread);
}

static void close_others(long (*close_one)(int fd))
{
	pthread_t thread;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	note_open();
	thread = start_reader();
	for (int fd = 0; fd < MOST; fd++) {
		if (!was_open[fd])
			CHECK_ERRNO(close_one(fd), EBADF);
	}
	end_reader(thread);
	end_reader(start_reader());
}

static long by_close(int fd)
{
	return close(fd);
}

static long by_number(int fd)
{
	return syscall(SYS_close, fd);
}

TEST(others_cannot_be_closed)
{
	close_others(by_close);
}

TEST(others_cannot_be_closed_by_number)
{
	close_others(by_number);
}

static void has_no_more(void)
{
	for (int fd = 0; fd < MOST; fd++)
		CHECK_EQ(is_open(fd), was_open[fd]);
}

TEST(a_child_has_no_more)
{
	pthread_t thread;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	note_open();
	thread = start_reader();
	CHECK_EQ(child_exit_status(has_no_more), 0);
	end_reader(thread);
}
