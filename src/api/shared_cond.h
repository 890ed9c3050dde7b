/* SPDX-License-Identifier: MIT */
/*
 * Process-shared condition variables, in libc's layout and by libc's protocol.
 *
 *     if (wf_shared_cond_will_wait())
 *             return -WF_CANCEL_POINT(wf_shared_cond_wait(cond, mutex, when));
 *     else
 *             ...             libc's function
 *
 * Called with in_runtime 0.
 */
#ifndef WEFT_API_SHARED_COND_H
#define WEFT_API_SHARED_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cond_words.h"
#include "io/futex.h"

/* Is libc's protocol one that weft knows, and can the calling thread park? If
 * not, all of the below are libc's. */
static inline bool wf_shared_cond_can_wait(void)
{
	return wf_io_can_wait_futex() && wf_cond_words_are_known();
}

/* The same, for a thread that is about to wait. */
static inline bool wf_shared_cond_will_wait(void)
{
	return wf_io_will_wait_futex() && wf_cond_words_are_known();
}

/*
 * With any mutex. 0 (also spuriously), -ETIMEDOUT, -ECANCELED, or what the
 * mutex says: -EPERM when it is released, -EOWNERDEAD or -ENOTRECOVERABLE
 * when it is taken again. Parks.
 */
int wf_shared_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			int64_t deadline_ns);

/* May park for a moment. */
void wf_shared_cond_signal(pthread_cond_t *cond);
void wf_shared_cond_broadcast(pthread_cond_t *cond);

/* Waits until the threads that were woken have left it. */
void wf_shared_cond_fini(pthread_cond_t *cond);

#endif
