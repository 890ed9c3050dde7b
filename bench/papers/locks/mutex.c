/* SPDX-License-Identifier: MIT */
/*
 * The mutex of libc, or of the runtime that runs the program.
 */
#include <pthread.h>

#include "kinds.h"

static size_t size(int nr_threads)
{
	return sizeof(pthread_mutex_t);
}

static int init(struct lock *lock, int nr_threads)
{
	return pthread_mutex_init((pthread_mutex_t *)lock, NULL);
}

static void fini(struct lock *lock)
{
	pthread_mutex_destroy((pthread_mutex_t *)lock);
}

static void lock_it(struct lock *lock, int me)
{
	pthread_mutex_lock((pthread_mutex_t *)lock);
}

static void unlock_it(struct lock *lock, int me)
{
	pthread_mutex_unlock((pthread_mutex_t *)lock);
}

const struct lock_kind lock_mutex = {
	.name = "mutex",
	.max_threads = LOCK_MAX_THREADS,
	.size = size,
	.init = init,
	.fini = fini,
	.lock = lock_it,
	.unlock = unlock_it,
};
