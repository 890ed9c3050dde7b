/* SPDX-License-Identifier: MIT */
/*
 * Process-shared mutexes with a priority ceiling, in libc's layout, for threads
 * that the kernel does not know. The functions return 0 or Exxx, as
 * pthread_mutex_...:
 *
 *     if (wf_ceiling_has(m))
 *             rc = wf_ceiling_trylock(m);
 *
 * Called with in_runtime 0. They do not block.
 */
#ifndef WEFT_SYNC_CEILING_H
#define WEFT_SYNC_CEILING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/runtime.h"
#include "sync/mutex.h"

/* The bits of the word that have the state: all bits below the ceiling. */
#define WF_CEILING_STATE ((UINT32_C(1) << 19) - 1)

/*
 * True if m, in libc's layout, is such a mutex, and the caller a thread of
 * weft. False for a destroyed mutex, of kind -1.
 */
static inline bool wf_ceiling_has(const pthread_mutex_t *m)
{
	return m->libc_kind > 0 && (m->libc_kind & WF_MUTEX_PROTECT) != 0 &&
	       wf_self != NULL && wf_self->kind != WF_THREAD_FOREIGN;
}

/*
 * wf_shared_trylock() and wf_shared_unlock() call these for mutexes with a
 * ceiling. Return EAGAIN also if the process holds too many such mutexes.
 */
int wf_ceiling_trylock(pthread_mutex_t *m);
int wf_ceiling_unlock(pthread_mutex_t *m);

void wf_ceiling_fork_child(void);

#endif
