/*
 * Two SCHED_RR threads of one priority wake at the same moment, on an otherwise
 * idle process, and each computes until the other has run. The monitor was not
 * woken, since it did not count real-time threads as waiting, and so nobody
 * made them take turns.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "check.h"
#include "threading.h"

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

static pthread_t start(void)
{
	struct sched_param param = { .sched_priority = 1 };
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
		 0);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_RR), 0);
	CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	err = pthread_create(&thread, &attr, wake_and_compute, NULL);
	if (err == EPERM) { /* to those who may not, it tells nothing */
		CHECK_EQ(pthread_attr_setinheritsched(&attr,
						      PTHREAD_INHERIT_SCHED),
			 0);
		err = pthread_create(&thread, &attr, wake_and_compute, NULL);
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

int main(void)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &wake_at), 0);
	wake_at = ts_after_ns(wake_at, PAUSE_MS * 1000000L);
	for (int i = 0; i < NR_THREADS; i++)
		threads[i] = start();
	for (int i = 0; i < NR_THREADS; i++)
		thread_join(threads[i]);
	puts("each has run");
	return 0;
}
