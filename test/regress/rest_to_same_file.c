/* SPDX-License-Identifier: MIT */
/*
 * A thread transfers more bytes than fit. When the first part has gone through,
 * another thread makes its number name another file. The rest must not go to
 * that file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "threading.h"

enum { NR_ROUNDS = 400, BYTES = 1 << 19 };

static char data[BYTES];

struct call {
	long (*make)(int fd, char *buf, size_t bytes);
	int fd;
	long result;
};

static long by_write(int fd, char *buf, size_t bytes)
{
	return write(fd, buf, bytes);
}

static long by_writev(int fd, char *buf, size_t bytes)
{
	struct iovec iov[2] = { { buf, 1 }, { buf + 1, bytes - 1 } };

	return writev(fd, iov, 2);
}

static long by_send(int fd, char *buf, size_t bytes)
{
	return send(fd, buf, bytes, 0);
}

static long by_sendmsg(int fd, char *buf, size_t bytes)
{
	struct iovec iov = { buf, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sendmsg(fd, &msg, 0);
}

static void *make(void *arg)
{
	struct call *c = arg;

	c->result = c->make(c->fd, data, sizeof(data));
	return NULL;
}

static void make_pair(bool is_pipe, int ends[2])
{
	CHECK_EQ(is_pipe ? pipe(ends) :
			   socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
		 0);
}

static void close_pair(const int ends[2])
{
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(close(ends[1]), 0);
}

static int waiting(int fd)
{
	int nr;

	CHECK_EQ(ioctl(fd, FIONREAD, &nr), 0);
	return nr;
}

/* Returns how many bytes fit before a call has to wait. */
static int capacity(bool is_pipe)
{
	int ends[2], nr;

	make_pair(is_pipe, ends);
	CHECK_EQ(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], data, sizeof(data)) > 0)
		continue;
	nr = waiting(ends[0]);
	close_pair(ends);
	return nr;
}

/*
 * Reads until the call is over: no other descriptor of the file is open to
 * write.
 */
static long drain(int fd)
{
	static char buf[BYTES];
	long n, all = 0;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		all += n;
	return all;
}

/* The call may transfer less, as if it were interrupted. */
static void call_once(bool is_pipe, int full,
		      long (*how)(int fd, char *buf, size_t bytes))
{
	int ends[2], others[2];
	struct call c = { .make = how };
	pthread_t thread;
	long drained;

	make_pair(is_pipe, ends);
	make_pair(is_pipe, others);
	c.fd = ends[1];
	thread = thread_start(make, &c);
	while (waiting(ends[0]) < full)
		sched_yield();
	CHECK_EQ(dup2(others[1], ends[1]), ends[1]);
	drained = drain(ends[0]);
	thread_join(thread);
	CHECK_EQ(c.result, drained);
	CHECK_EQ(waiting(others[0]), 0);
	close_pair(ends);
	close_pair(others);
}

static void call_often(bool is_pipe,
		       long (*how)(int fd, char *buf, size_t bytes))
{
	int full = capacity(is_pipe);

	for (int i = 0; i < NR_ROUNDS; i++)
		call_once(is_pipe, full, how);
}

int main(void)
{
	call_often(false, by_write);
	call_often(false, by_writev);
	call_often(false, by_send);
	call_often(false, by_sendmsg);
	call_often(true, by_write);
	call_often(true, by_writev);
	puts("the other file got nothing");
	return 0;
}
