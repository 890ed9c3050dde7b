/* SPDX-License-Identifier: MIT */
/*
 * Robust or process-shared mutexes with priority inheritance, in the layout of
 * the kernel and libc. The functions return 0 or Exxx, as pthread_mutex_...:
 *
 *     if (wf_inherit_has(m))
 *             return wf_inherit_lock(m, CLOCK_REALTIME, NULL);
 *
 * A thread that locks such a mutex is bound from then on, and waits in the
 * kernel. Called with in_runtime 0.
 */
#ifndef WEFT_SYNC_INHERIT_H
#define WEFT_SYNC_INHERIT_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "sync/mutex.h"

/*
 * True if m has this protocol. m has libc's layout. A destroyed mutex, of kind
 * -1, has no protocol.
 */
static inline bool wf_inherit_has(const pthread_mutex_t *m)
{
	return m->libc_kind > 0 && (m->libc_kind & WF_MUTEX_INHERIT);
}

/*
 * True if the kernel knows the caller's id. Then libc's functions lock, and
 * libc may wait for a condition with m.
 */
bool wf_inherit_is_libc(void);

/* Locks m until the deadline `abstime`; NULL: no deadline. */
int wf_inherit_lock(pthread_mutex_t *m, clockid_t clock,
		    const struct timespec *abstime);
int wf_inherit_trylock(pthread_mutex_t *m);
int wf_inherit_unlock(pthread_mutex_t *m);

/*
 * Called when the caller will take a lock of which the kernel knows the owner,
 * and not by the functions above. If it is the first thread, it stays on its
 * kernel thread.
 */
void wf_inherit_note_native(void);

/*
 * Called when the runtime starts. t is the caller and the first thread, and has
 * a carrier.
 */
void wf_inherit_start(struct wf_thread *t);

/*
 * Called when the caller exits: makes the kernel mark the robust mutexes that
 * it holds.
 */
void wf_inherit_thread_end(struct wf_thread *t);

void wf_inherit_fork_child(void);

#endif
