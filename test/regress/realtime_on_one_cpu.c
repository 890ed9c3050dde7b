/*
 * Real-time threads that have one CPU together wait for the same semaphore, not
 * for long. The kernel preempted one while it held a lock of weft's, for which
 * one with a higher priority then waited without ever giving way to it.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

#include "check.h"
#include "cpus.h"
#include "threading.h"

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

static pthread_t start(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	cpu_set_t cpu = set_of_cpu(first_cpu());
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(cpu), &cpu), 0);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
		 0);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_FIFO), 0);
	CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	err = pthread_create(&thread, &attr, wait_in_vain, NULL);
	if (err == EPERM) { /* to those who may not, it tells nothing */
		CHECK_EQ(pthread_attr_setinheritsched(&attr,
						      PTHREAD_INHERIT_SCHED),
			 0);
		err = pthread_create(&thread, &attr, wait_in_vain, NULL);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

int main(void)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(sem_init(&never, 0, 0), 0);
	for (int i = 0; i < NR_THREADS; i++)
		threads[i] = start(i + 1);
	for (int i = 0; i < NR_THREADS; i++)
		thread_join(threads[i]);
	CHECK_EQ(sem_destroy(&never), 0);
	printf("%d rounds\n", NR_ROUNDS);
	return 0;
}
