/* SPDX-License-Identifier: MIT */
/*
 * Forks while other threads are in the middle of pthread_create: the child
 * makes threads in slots that its parent was just preparing for threads of its
 * own.
 */
#include <stdio.h>

#include "child.h"
#include "threading.h"

#define NR_CREATORS 6
#define NR_FORKS 150
#define NR_CHILD_THREADS 40

static _Atomic int is_over;
static __thread int mine = 7;

static void *use_own(void *arg)
{
	CHECK_EQ(mine++, 7);
	return arg;
}

static void *create(void *arg)
{
	while (!is_over) {
		pthread_t threads[4];

		threads_start(threads, 4, use_own, NULL);
		threads_join(threads, 4);
	}
	return arg;
}

/* All threads exist at the same time, so every slot is used. */
static pthread_barrier_t barrier;

static void *meet(void *arg)
{
	CHECK_EQ(mine++, 7);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void use_threads(void)
{
	pthread_t threads[NR_CHILD_THREADS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_CHILD_THREADS), 0);
	threads_start(threads, NR_CHILD_THREADS, meet, NULL);
	threads_join(threads, NR_CHILD_THREADS);
}

int main(void)
{
	pthread_t creators[NR_CREATORS];

	threads_start(creators, NR_CREATORS, create, NULL);
	for (int i = 0; i < NR_FORKS; i++)
		CHECK_EQ(child_exit_status(use_threads), 0);
	is_over = 1;
	threads_join(creators, NR_CREATORS);
	printf("%d children made threads\n", NR_FORKS);
	return 0;
}
