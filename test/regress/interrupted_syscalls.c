/* SPDX-License-Identifier: MIT */
/*
 * A thread computes and then waits by syscall() in calls that the kernel never
 * restarts, while other threads want the CPU. A preemption request must not end
 * the call.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>

#include "busy.h"

enum { NR_CPU_BOUND = 3, NR_CALLS = 50 };

int main(void)
{
	int epfd = epoll_create1(0), id = semget(IPC_PRIVATE, 1, 0600);
	const struct timespec timeout = { 0, 2000000 };
	struct sembuf down = { 0, -1, 0 };

	CHECK(epfd >= 0 && id >= 0);
	busy_start(busy_computing, NR_CPU_BOUND);
	for (int i = 0; i < NR_CALLS; i++) {
		struct epoll_event event;

		busy_for_us(300 + i % 10 * 50);
		CHECK_EQ(syscall(SYS_poll, NULL, 0, 2), 0);
		busy_for_us(300 + i % 10 * 50);
		CHECK_EQ(syscall(SYS_epoll_wait, epfd, &event, 1, 2), 0);
		busy_for_us(300 + i % 10 * 50);
		CHECK_ERRNO(syscall(SYS_semtimedop, id, &down, 1, &timeout),
			    EAGAIN);
	}
	busy_stop();
	CHECK_EQ(semctl(id, 0, IPC_RMID), 0);
	printf("the calls ended by themselves\n");
	return 0;
}
