/* SPDX-License-Identifier: MIT */
/*
 * Process-shared condition variables, in libc's layout and by libc's protocol.
 *
 *     if (wf_shared_cond_will_wait())
 *             return -WF_CANCEL_POINT(wf_shared_cond_wait(cond, mutex, when));
 *     else
 *             ...             libc's function
 *
 * The caller has in_runtime 0.
 */
#ifndef WEFT_SHARED_COND_H
#define WEFT_SHARED_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "io/call/futex.h"
#include "libc/cond_words.h"

/*
 * True if weft knows libc's protocol and the calling thread can park. If not,
 * the caller uses libc's functions instead of those below.
 */
static inline bool wf_shared_cond_can_wait(void)
{
	return wf_io_can_wait_futex() && wf_cond_words_are_known();
}

/* As wf_shared_cond_can_wait, for a thread that is about to wait. */
static inline bool wf_shared_cond_will_wait(void)
{
	return wf_io_will_wait_futex() && wf_cond_words_are_known();
}

/*
 * Releases mutex, parks until a signal, locks mutex again. The mutex may be of
 * any kind. Returns 0, also without a signal, -ETIMEDOUT or -ECANCELED. Returns
 * -EPERM if the mutex cannot be released, and -EOWNERDEAD or -ENOTRECOVERABLE
 * if locking it again returns that.
 */
int wf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			int64_t deadline_ns);

/*
 * Wake one waiter, or all of them. May park until other threads release the
 * object's internal lock.
 */
void wf_shared_cond_signal(pthread_cond_t *cond);
void wf_shared_cond_broadcast(pthread_cond_t *cond);

/* Waits until the woken threads no longer access the condition. */
void wf_shared_cond_fini(pthread_cond_t *cond);

#endif
