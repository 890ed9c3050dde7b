/* SPDX-License-Identifier: MIT */
/*
 * A thread computes and then waits in an inline system call that the kernel
 * never restarts, while other threads want the CPU. A preemption request must
 * leave the call alone. A few calls are interrupted all the same, since a call
 * may begin just as the request comes. On a busy machine that may happen often:
 * the best of several tries counts.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "busy.h"

enum { NR_CPU_BOUND = 3, NR_CALLS = 250, MOST = NR_CALLS / 25, NR_TRIES = 6 };

/* A poll() without descriptors, by an instruction that weft does not see. */
static long wait_unseen(int ms)
{
	long rc = SYS_poll;

	__asm__ volatile("syscall"
			 : "+a"(rc)
			 : "D"(NULL), "S"(0L), "d"((long)ms)
			 : "rcx", "r11", "memory");
	return rc;
}

static int count_interrupted(void)
{
	int nr = 0;

	for (int i = 0; i < NR_CALLS && nr <= MOST; i++) {
		busy_for_us(700 + i % 10 * 50);
		nr += wait_unseen(2) == -EINTR;
	}
	return nr;
}

int main(void)
{
	int nr_tries = 0;

	busy_start(busy_computing, NR_CPU_BOUND);
	while (nr_tries < NR_TRIES && count_interrupted() > MOST)
		nr_tries++;
	busy_stop();
	if (nr_tries == NR_TRIES)
		printf("more than %d of %d calls failed with EINTR\n", MOST,
		       NR_CALLS);
	else
		printf("the calls ended by themselves\n");
	return 0;
}
