/* SPDX-License-Identifier: MIT */
/*
 * Mutexes with priority inheritance that are robust or shared by processes, in
 * the kernel's and libc's layout. Results are those of the pthread_mutex_...
 * functions:
 *
 *     if (wf_inherit_has(m))
 *             return wf_inherit_lock(m, CLOCK_REALTIME, NULL);
 *
 * Who locks one has a kernel thread of its own from then on, and waits there.
 * Called with in_runtime 0.
 */
#ifndef WEFT_SYNC_INHERIT_H
#define WEFT_SYNC_INHERIT_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "sync/mutex.h"

/* m is libc's. One that was destroyed, of kind -1, has nothing. */
static inline bool wf_inherit_has(const pthread_mutex_t *m)
{
	return m->__data.__kind > 0 && (m->__data.__kind & WF_MUTEX_INHERIT);
}

/*
 * Is the caller's id the kernel's? Then it locks by libc's own functions, and
 * those may wait for a condition with m.
 */
bool wf_inherit_is_libc(void);

/* abstime NULL: no deadline. */
int wf_inherit_lock(pthread_mutex_t *m, clockid_t clock,
		    const struct timespec *abstime);
int wf_inherit_trylock(pthread_mutex_t *m);
int wf_inherit_unlock(pthread_mutex_t *m);

/*
 * The caller locks what the kernel knows owners of, and not by the functions
 * above: if it is the first thread, its kernel thread has to stay its own.
 */
void wf_inherit_note_native(void);

/* The runtime starts, and t, the caller and the first thread, has a carrier. */
void wf_inherit_start(struct wf_thread *t);

/* The caller ends: the kernel ends what it holds. */
void wf_inherit_thread_end(struct wf_thread *t);

void wf_inherit_fork_child(void);

#endif
