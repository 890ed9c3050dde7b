/* SPDX-License-Identifier: MIT */
/*
 * Process-shared mutexes with priority protection, in libc's layout: what takes
 * the place of libc's functions for threads that the kernel does not know.
 * Results are those of the pthread_mutex_... functions.
 * Called with in_runtime 0; none waits.
 */
#ifndef WEFT_SYNC_CEILING_H
#define WEFT_SYNC_CEILING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sched/runtime.h"
#include "sync/mutex.h"

/* The rest of the word is the ceiling. */
#define WF_CEILING_STATE ((UINT32_C(1) << 19) - 1)

/*
 * Is m, which is libc's, such a mutex, and the caller a thread of weft's? One
 * that was destroyed, of kind -1, is none.
 */
static inline bool wf_ceiling_has(const pthread_mutex_t *m)
{
	return m->__data.__kind > 0 &&
	       (m->__data.__kind & WF_MUTEX_PROTECT) != 0 && wf_self != NULL &&
	       wf_self->kind != WF_THREAD_FOREIGN;
}

/* What wf_shared_trylock() and wf_shared_unlock() do then. EAGAIN also if the
 * process holds too many. */
int wf_ceiling_trylock(pthread_mutex_t *m);
int wf_ceiling_unlock(pthread_mutex_t *m);

void wf_ceiling_fork_child(void);

#endif
