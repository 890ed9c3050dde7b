/* SPDX-License-Identifier: MIT */
/*
 * Process-shared robust mutexes are unmapped while the thread that holds them
 * ends: by another thread at that moment, or by the first thread before.
 * Natively the kernel skips memory that is unmapped.
 */
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>

#include "robust.h"
#include "threading.h"

enum { TIMES = 1500, NR_HELD = 100 };
_Static_assert(NR_HELD * sizeof(pthread_mutex_t) <= ROBUST_BYTES, "one page");

static sem_t locked;
static pthread_t first;

static void *lock_and_end(void *mutexes)
{
	pthread_mutex_t *m = mutexes;

	for (int i = 0; i < NR_HELD; i++)
		CHECK_EQ(pthread_mutex_lock(&m[i]), 0);
	CHECK_EQ(sem_post(&locked), 0);
	return NULL;
}

static void unmap_meanwhile(int delay)
{
	pthread_mutex_t *m = map_robust(NR_HELD, PTHREAD_PRIO_NONE);
	pthread_t t = thread_start(lock_and_end, m);

	CHECK_EQ(sem_wait(&locked), 0);
	for (volatile int i = 0; i < delay; i++)
		;
	CHECK_EQ(munmap(m, ROBUST_BYTES), 0);
	thread_join(t);
}

static void *run(void *unused)
{
	CHECK_EQ(pthread_join(first, NULL), 0);
	for (int i = 0; i < TIMES; i++)
		unmap_meanwhile(i * 13 % 20000);
	puts("all ended");
	return unused;
}

int main(void)
{
	pthread_mutex_t *m = map_robust(1, PTHREAD_PRIO_NONE);

	CHECK_EQ(sem_init(&locked, 0, 0), 0);
	first = pthread_self();
	thread_start(run, NULL);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(munmap(m, ROBUST_BYTES), 0);
	pthread_exit(NULL);
}
