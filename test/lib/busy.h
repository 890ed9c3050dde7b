/* SPDX-License-Identifier: MIT */
/*
 * Threads that keep the CPUs busy beside the threads under test.
 *
 *     busy_start(busy_in_libc, 20);
 *     ...
 *     busy_stop();
 */
#ifndef BUSY_H
#define BUSY_H

#include <stdlib.h>

#include "threading.h"

#define BUSY_MOST 32

static _Atomic int busy_is_over;
static pthread_t busy_threads[BUSY_MOST];
static int nr_busy;

/* Allocates, locks and sleeps, so a fork meets libc's locks in every state. */
static inline void *busy_in_libc(void *arg)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	while (!busy_is_over) {
		free(malloc(100 + (size_t)(intptr_t)arg * 37));
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if ((intptr_t)arg % 3 == 0)
			usleep(300);
		else
			sched_yield();
	}
	return NULL;
}

static inline void *busy_computing(void *arg)
{
	while (!busy_is_over)
		;
	return arg;
}

static inline void busy_start(void *(*kind)(void *), int nr)
{
	CHECK(nr <= BUSY_MOST);
	busy_is_over = 0;
	nr_busy = nr;
	threads_start_numbered(busy_threads, nr, kind);
}

static inline void busy_stop(void)
{
	busy_is_over = 1;
	threads_join(busy_threads, nr_busy);
}

/* Computes in the calling thread. */
static inline void busy_for_us(int us)
{
	int64_t end = now_ns() + us * (int64_t)1000;

	while (now_ns() < end)
		;
}

#endif
