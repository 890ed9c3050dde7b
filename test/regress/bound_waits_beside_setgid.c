/* SPDX-License-Identifier: MIT */
/*
 * Bound threads wait in the kernel in calls that are never restarted after a
 * handler, while another thread changes the credentials of the process. The
 * signal by which weft makes all kernel threads follow must end no call.
 * (glibc's signal does so, natively.)
 */
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "check.h"
#include "rest.h"
#include "threading.h"

enum { NR_CHANGES = 5 };

static const struct timespec long_time = { 1000, 0 };
static const int long_ms = 1000000;
static int ends[2], epfd;
static struct epoll_event event;
static struct pollfd fd;
static fd_set reads;

static long by_poll(void)
{
	return poll(&fd, 1, -1);
}

static long by_poll_with_time(void)
{
	return poll(&fd, 1, long_ms);
}

static long by_ppoll(void)
{
	return ppoll(&fd, 1, &long_time, NULL);
}

static long by_select(void)
{
	struct timeval time = { 1000, 0 };

	return select(ends[0] + 1, &reads, NULL, NULL, &time);
}

static long by_pselect(void)
{
	return pselect(ends[0] + 1, &reads, NULL, NULL, &long_time, NULL);
}

static long by_epoll_wait(void)
{
	return epoll_wait(epfd, &event, 1, long_ms);
}

static long by_epoll_pwait(void)
{
	return epoll_pwait(epfd, &event, 1, -1, NULL);
}

static long by_epoll_pwait2(void)
{
	return epoll_pwait2(epfd, &event, 1, &long_time, NULL);
}

static long by_number_of_poll(void)
{
	return syscall(SYS_poll, &fd, 1, -1);
}

static long by_number_of_epoll_wait(void)
{
	return syscall(SYS_epoll_wait, epfd, &event, 1, long_ms);
}

/* --- for a time, which they last ------------------------------------------ */

static const struct timespec short_time = { 0, 50000000 };

/* 1 if a call has failed with this error. */
static long by_time(long result, int error)
{
	return result == -1 && errno == error;
}

static long by_nanosleep(void)
{
	return nanosleep(&short_time, NULL) == 0;
}

static long by_clock_nanosleep(void)
{
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL) == 0;
}

static long by_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return by_time(sigtimedwait(&set, NULL, &short_time), EAGAIN);
}

static long by_semtimedop(void)
{
	struct sembuf op = { 0, -1, 0 };
	int id = semget(IPC_PRIVATE, 1, 0600);
	long rc = by_time(semtimedop(id, &op, 1, &short_time), EAGAIN);

	CHECK_EQ(semctl(id, 0, IPC_RMID), 0);
	return rc;
}

static void set_limit(int fd, int which)
{
	struct timeval limit = { 0, 50000 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, which, &limit, sizeof(limit)), 0);
}

static long by_recv_with_limit(void)
{
	int pair[2];
	char byte;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	set_limit(pair[0], SO_RCVTIMEO);
	return by_time(recv(pair[0], &byte, 1, 0), EAGAIN);
}

static int listener(struct sockaddr_un *ret_address)
{
	socklen_t bytes = sizeof(*ret_address);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	CHECK_EQ(bind(fd, (struct sockaddr *)ret_address, sizeof(sa_family_t)),
		 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)ret_address, &bytes), 0);
	CHECK_EQ(listen(fd, 0), 0);
	return fd;
}

static long by_accept_with_limit(void)
{
	struct sockaddr_un address;
	int fd = listener(&address);

	set_limit(fd, SO_RCVTIMEO);
	return by_time(accept(fd, NULL, NULL), EAGAIN);
}

/* The first connection fills the queue. */
static long by_connect_with_limit(void)
{
	struct sockaddr_un address;
	struct sockaddr *to = (struct sockaddr *)&address;
	socklen_t bytes = sizeof(sa_family_t) + 6;
	int fds[2];

	listener(&address);
	for (int i = 0; i < 2; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		set_limit(fds[i], SO_SNDTIMEO);
	}
	CHECK_EQ(connect(fds[0], to, bytes), 0);
	return by_time(connect(fds[1], to, bytes), EAGAIN);
}

static long by_futex(void)
{
	static int word;

	return by_time(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0,
			       &short_time),
		       ETIMEDOUT);
}

static long by_usleep(void)
{
	return usleep(50000) == 0;
}

static long (*const calls[])(void) = {
	by_poll,
	by_poll_with_time,
	by_ppoll,
	by_select,
	by_pselect,
	by_epoll_wait,
	by_epoll_pwait,
	by_epoll_pwait2,
	by_number_of_poll,
	by_number_of_epoll_wait,
	by_nanosleep,
	by_clock_nanosleep,
	by_sigtimedwait,
	by_semtimedop,
	by_recv_with_limit,
	by_accept_with_limit,
	by_connect_with_limit,
	by_futex,
	by_usleep,
};

static void *call_once(void *call)
{
	return (void *)(*(long (**)(void))call)();
}

static void make_descriptors(void)
{
	CHECK_EQ(pipe(ends), 0);
	fd = (struct pollfd){ ends[0], POLLIN, 0 };
	FD_SET(ends[0], &reads);
	epfd = epoll_create1(EPOLL_CLOEXEC);
	CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0],
			   &(struct epoll_event){ .events = EPOLLIN }),
		 0);
}

int main(void)
{
	char byte;

	make_descriptors();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pthread_t thread =
			thread_start(call_once, (void *)(intptr_t)&calls[i]);

		for (int n = 0; n < NR_CHANGES; n++) {
			await_rest();
			CHECK_EQ(setgid(getgid()), 0);
		}
		CHECK_EQ(write(ends[1], "x", 1), 1);
		if (thread_join(thread) != (void *)1)
			printf("call %zu has ended early\n", i);
		CHECK_EQ(read(ends[0], &byte, 1), 1);
	}
	puts("no call has ended early");
	return 0;
}
