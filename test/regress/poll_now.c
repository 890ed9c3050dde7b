/* SPDX-License-Identifier: MIT */
/*
 * Polls without a wait while threads are preempted: the program must see no
 * interruption of the call.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "threading.h"

enum { NR_THREADS = 3, NR_ROUNDS = 30000 };

static int ends[2], epfd;

static void *ask(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		struct pollfd fd = { ends[0], POLLIN, 0 };
		struct timespec now = { 0, 0 };
		struct timeval at_once = { 0, 0 };
		struct epoll_event event;
		fd_set set;

		CHECK_EQ(poll(&fd, 1, 0), 0);
		CHECK_EQ(ppoll(&fd, 1, &now, NULL), 0);
		CHECK_EQ(epoll_wait(epfd, &event, 1, 0), 0);
		FD_ZERO(&set);
		FD_SET(ends[0], &set);
		CHECK_EQ(select(ends[0] + 1, &set, NULL, NULL, &at_once), 0);
	}
	return arg;
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pipe(ends), 0);
	epfd = epoll_create1(0);
	CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event), 0);
	threads_start(threads, NR_THREADS, ask, NULL);
	threads_join(threads, NR_THREADS);
	printf("nothing was ready\n");
	return 0;
}
