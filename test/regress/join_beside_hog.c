/*
 * A thread that had yielded, and so was taken from the ring of those that
 * compute, does nothing but make and join threads from then on. The main
 * thread, which computes, stands behind it and must have its turn all the
 * same, although each join and each end switches straight to the other side.
 */
#include <stdio.h>

#include "threading.h"

enum { NR_ITERATIONS = 300 * 1000 * 1000 };

static _Atomic int is_over;

static void *nothing(void *arg)
{
	return arg;
}

static void *make_and_join(void *arg)
{
	sched_yield();
	while (!is_over) {
		pthread_t thread;

		threads_start(&thread, 1, nothing, NULL);
		threads_join(&thread, 1);
	}
	return arg;
}

int main(void)
{
	pthread_t maker;
	volatile int i;

	threads_start(&maker, 1, make_and_join, NULL);
	for (i = 0; i < NR_ITERATIONS; i++)
		continue;
	is_over = 1;
	threads_join(&maker, 1);
	printf("computed beside joins\n");
	return 0;
}
