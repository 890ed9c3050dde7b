/* SPDX-License-Identifier: MIT */
/*
 * Process-shared reader-writer locks, in libc's layout and by libc's protocol.
 *
 *     if (wf_rwlock_is_shared(l))
 *             return wf_shared_rwlock_rdlock(rwlock, CLOCK_REALTIME, NULL);
 *
 * Results are those of the pthread_rwlock_... functions. None is a cancellation
 * point. The caller has in_runtime 0. tryrdlock is libc's own function.
 */
#ifndef WEFT_SHARED_RWLOCK_H
#define WEFT_SHARED_RWLOCK_H

#include <pthread.h>
#include <time.h>

/*
 * Lock for reading or writing. Both park until the deadline `abstime`. NULL: no
 * deadline.
 */
int wf_shared_rwlock_rdlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime);
int wf_shared_rwlock_wrlock(pthread_rwlock_t *rwlock, clockid_t clock,
			    const struct timespec *abstime);

/* Do not block. */
int wf_shared_rwlock_trywrlock(pthread_rwlock_t *rwlock);
int wf_shared_rwlock_unlock(pthread_rwlock_t *rwlock);

#endif
