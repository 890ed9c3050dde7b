/* SPDX-License-Identifier: MIT */
/*
 * Connections that many threads make and accept, cancellation in every call
 * that waits for a descriptor, and a full descriptor table.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static int ends[2], epfd;
static _Atomic int is_ready;

static void *write_at_rest(void *arg)
{
	await_rest();
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

/* --- connections --------------------------------------------------------- */

enum { NR_ACCEPTORS = 8, NR_CLIENTS = 100, NR_CALLS = 5 };
static int listener;
static struct sockaddr_in address;

static void listen_on_loopback(void)
{
	socklen_t bytes = sizeof(address);

	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(listener, (struct sockaddr *)&address, sizeof(address)),
		 0);
	CHECK_EQ(listen(listener, 100), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
}

static void *accept_calls(void *arg)
{
	for (;;) {
		struct sockaddr_in from;
		socklen_t bytes = sizeof(from);
		int fd = accept4(listener, (struct sockaddr *)&from, &bytes,
				 SOCK_CLOEXEC);
		char c;

		CHECK(fd >= 0);
		CHECK_EQ(bytes, sizeof(from));
		CHECK_EQ(from.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
		CHECK_EQ(recv(fd, &c, 1, 0), 1);
		CHECK_EQ(send(fd, &c, 1, 0), 1);
		CHECK_EQ(close(fd), 0);
		if (c == 'q')
			return arg;
	}
}

static void call(char c)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char back = 0;

	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK_EQ(send(fd, &c, 1, 0), 1);
	CHECK_EQ(recv(fd, &back, 1, 0), 1);
	CHECK_EQ(back, c);
	CHECK_EQ(recv(fd, &back, 1, 0), 0);
	CHECK_EQ(close(fd), 0);
}

static void *make_calls(void *arg)
{
	for (int i = 0; i < NR_CALLS; i++)
		call((char)('A' + i));
	return arg;
}

TEST(many_threads_accept_and_connect)
{
	pthread_t acceptors[NR_ACCEPTORS], clients[NR_CLIENTS];

	listen_on_loopback();
	threads_start_numbered(acceptors, NR_ACCEPTORS, accept_calls);
	threads_start_numbered(clients, NR_CLIENTS, make_calls);
	threads_join(clients, NR_CLIENTS);
	for (int i = 0; i < NR_ACCEPTORS; i++)
		call('q');
	threads_join(acceptors, NR_ACCEPTORS);
}

TEST(connections_that_fail)
{
	struct sockaddr_un nobody = { AF_UNIX, "/nonexistent/socket" };
	int fd;

	have_threads();
	listen_on_loopback();
	CHECK_EQ(close(listener), 0);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&address, sizeof(address)),
		    ECONNREFUSED);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(fd, (struct sockaddr *)&nobody, sizeof(nobody)),
		    ENOENT);
	CHECK_ERRNO(accept(fd, NULL, NULL), EINVAL);
	CHECK_ERRNO(accept(-1, NULL, NULL), EBADF);
	CHECK_ERRNO(accept(0, NULL, NULL), ENOTSOCK);
	listen_on_loopback();
	CHECK_EQ(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
	CHECK_ERRNO(accept(listener, NULL, NULL), EAGAIN);
}

/* --- cancellation -------------------------------------------------------- */

static void wait_somehow(intptr_t how)
{
	struct pollfd fd = { ends[0], POLLIN, 0 };
	struct epoll_event event;
	static char data[1 << 20];
	fd_set reads;
	char c;

	switch (how) {
	case 0:
		read(ends[0], &c, 1);
		break;
	case 1:
		recv(ends[0], &c, 1, 0);
		break;
	case 2:
		poll(&fd, 1, -1);
		break;
	case 3:
		FD_ZERO(&reads);
		FD_SET(ends[0], &reads);
		select(ends[0] + 1, &reads, NULL, NULL, NULL);
		break;
	case 4:
		epoll_wait(epfd, &event, 1, -1);
		break;
	case 5:
		accept(listener, NULL, NULL);
		break;
	case 6:
		write(ends[1], data, sizeof(data));
		break;
	default:
		send(ends[1], data, sizeof(data), 0);
		break;
	}
}

static void *wait_to_be_cancelled(void *how)
{
	is_ready = 1;
	/*
	 * A write may have written something before, so it need not wait at
	 * first.
	 */
	for (;;)
		wait_somehow((intptr_t)how);
	return NULL;
}

TEST(cancel_in_every_wait)
{
	listen_on_loopback();
	epfd = epoll_create1(0);
	for (intptr_t how = 0; how < 8; how++) {
		pthread_t thread;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		is_ready = 0;
		thread = thread_start(wait_to_be_cancelled, (void *)how);
		let_it_wait(&is_ready);
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
}

/* --- limits -------------------------------------------------------------- */

/* All descriptors are used up, then some are closed. */
TEST(descriptors_are_exhausted)
{
	struct rlimit limit = { 64, 64 };
	int last = -1, fd;

	have_threads();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while ((fd = dup(0)) >= 0)
		last = fd;
	CHECK_EQ(errno, EMFILE);
	CHECK_EQ(last, 63);
	CHECK_ERRNO(pipe(ends), EMFILE);
	for (fd = 3; fd <= last; fd++)
		close(fd);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(ends[0], 3);
	is_ready = 1;
	thread_join(thread_start(write_at_rest, NULL));
	CHECK_EQ(read(ends[0], &last, 1), 1);
}

/* Programs close all descriptors before they execute another program. */
TEST(all_descriptors_are_closed)
{
	pthread_t thread;

	have_threads();
	for (int fd = 3; fd < 2000; fd++)
		close(fd);
	CHECK_EQ(close_range(3, ~0U, 0), 0);
	closefrom(3);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(ends[0], 3);
	thread = thread_start(write_at_rest, NULL);
	CHECK_EQ(read(ends[0], &thread, 1), 1);
}
