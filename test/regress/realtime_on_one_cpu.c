/* SPDX-License-Identifier: MIT */
/*
 * Real-time threads that share one CPU wait briefly for the same semaphore. The
 * kernel preempted one while it held a lock of weft's. A thread with a higher
 * priority then waited for that lock without ever yielding.
 */
#include <semaphore.h>
#include <stdio.h>

#include "cpus.h"
#include "policies.h"

enum { NR_THREADS = 3, NR_ROUNDS = 5000, WAIT_NS = 20000 };

static sem_t never;

static void *wait_in_vain(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		struct timespec until;

		CHECK_EQ(clock_gettime(CLOCK_REALTIME, &until), 0);
		until = ts_after_ns(until, WAIT_NS + i % 16 * 1000);
		CHECK_EQ(sem_timedwait(&never, &until), -1);
		CHECK_EQ(errno, ETIMEDOUT);
	}
	return arg;
}

int main(void)
{
	const cpu_set_t cpu = set_of_cpu(first_cpu());
	pthread_t threads[NR_THREADS];

	CHECK_EQ(sem_init(&never, 0, 0), 0);
	for (int i = 0; i < NR_THREADS; i++)
		threads[i] = thread_start_policy(SCHED_FIFO, i + 1, &cpu,
						 wait_in_vain, NULL);
	for (int i = 0; i < NR_THREADS; i++)
		thread_join(threads[i]);
	CHECK_EQ(sem_destroy(&never), 0);
	printf("%d rounds\n", NR_ROUNDS);
	return 0;
}
