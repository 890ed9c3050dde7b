/* SPDX-License-Identifier: MIT */
/*
 * Robust and process-shared mutexes, in libc's layout and by libc's protocol. A
 * thread that waits for one does not hold a VP.
 *
 *     if (wf_mutex_is_libc(m))
 *             return wf_shared_mutex_lock(mutex, CLOCK_REALTIME, abstime);
 *
 * Results are those of the pthread_mutex_... functions. The caller has
 * in_runtime 0.
 */
#ifndef WEFT_SHARED_MUTEX_H
#define WEFT_SHARED_MUTEX_H

#include <pthread.h>
#include <time.h>

/*
 * Locks m; parks until it is free or the deadline `abstime`. NULL: no deadline.
 */
int wf_shared_mutex_lock(pthread_mutex_t *m, clockid_t clock,
			 const struct timespec *abstime);
int wf_shared_mutex_trylock(pthread_mutex_t *m);
int wf_shared_mutex_unlock(pthread_mutex_t *m);

#endif
