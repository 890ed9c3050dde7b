/* SPDX-License-Identifier: MIT */
/*
 * Mutexes in libc's layout: robust ones and process-shared ones. What they do
 * is libc's; waiting for them does not hold a VP.
 *
 *     if (wf_mutex_is_libc(m))
 *             return wf_shared_mutex_lock(mutex, CLOCK_REALTIME, abstime);
 *
 * Results are those of the pthread_mutex_... functions. Called with in_runtime
 * 0.
 */
#ifndef WEFT_API_SHARED_MUTEX_H
#define WEFT_API_SHARED_MUTEX_H

#include <pthread.h>
#include <time.h>

/* Parks; abstime NULL: no deadline. */
int wf_shared_mutex_lock(pthread_mutex_t *m, clockid_t clock,
			 const struct timespec *abstime);
int wf_shared_mutex_trylock(pthread_mutex_t *m);
int wf_shared_mutex_unlock(pthread_mutex_t *m);

#endif
