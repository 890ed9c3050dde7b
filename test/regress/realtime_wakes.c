/* SPDX-License-Identifier: MIT */
/*
 * Two SCHED_RR threads of one priority wake at the same moment, in an otherwise
 * idle process, and each computes until the other has run. The monitor did not
 * count real-time threads as waiting, so it was not woken, and no thread was
 * preempted.
 */
#include <stdio.h>

#include "policies.h"

enum { NR_THREADS = 2, PAUSE_MS = 200 };

static struct timespec wake_at;
static _Atomic int nr_awake;

static void *wake_and_compute(void *arg)
{
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake_at,
				 NULL),
		 0);
	nr_awake++;
	while (nr_awake < NR_THREADS)
		;
	return arg;
}

int main(void)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &wake_at), 0);
	wake_at = ts_after_ns(wake_at, PAUSE_MS * 1000000L);
	for (int i = 0; i < NR_THREADS; i++)
		threads[i] = thread_start_policy(SCHED_RR, 1, NULL,
						 wake_and_compute, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		thread_join(threads[i]);
	puts("each has run");
	return 0;
}
