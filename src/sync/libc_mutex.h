/* SPDX-License-Identifier: MIT */
/*
 * Fields of a mutex in libc's layout, for all files of weft that lock such
 * mutexes.
 *
 *     _Atomic uint32_t *word = wf_libc_mutex_word(m);
 *
 * None of the functions blocks.
 */
#ifndef WEFT_SYNC_LIBC_MUTEX_H
#define WEFT_SYNC_LIBC_MUTEX_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sync/mutex.h"

/*
 * The word of a mutex that is not robust. Higher bits may have a priority
 * ceiling.
 */
enum wf_libc_mutex {
	WF_LIBC_MUTEX_FREE = 0,
	WF_LIBC_MUTEX_LOCKED = 1,
	WF_LIBC_MUTEX_WAITED = 2, /* locked, and threads may wait */
};

static inline _Atomic uint32_t *wf_libc_mutex_word(const pthread_mutex_t *m)
{
	return (_Atomic uint32_t *)&m->libc_word;
}

static inline bool wf_libc_mutex_is_robust(const pthread_mutex_t *m)
{
	return (m->libc_kind & WF_MUTEX_ROBUST) != 0;
}

/* Returns a PTHREAD_MUTEX_..._NP. */
static inline int wf_libc_mutex_type(const pthread_mutex_t *m)
{
	return m->libc_kind & WF_MUTEX_TYPE;
}

static inline bool wf_libc_mutex_asks_owner(const pthread_mutex_t *m)
{
	return wf_libc_mutex_type(m) == PTHREAD_MUTEX_RECURSIVE_NP ||
	       wf_libc_mutex_type(m) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

/*
 * Called when the owner unlocks. Returns true if it keeps the mutex, which it
 * had locked several times.
 */
static inline bool wf_libc_mutex_unlock_again(pthread_mutex_t *m)
{
	if (wf_libc_mutex_type(m) != PTHREAD_MUTEX_RECURSIVE_NP ||
	    m->libc_count <= 1)
		return false;
	m->libc_count--;
	return true;
}

/*
 * Called when the owner locks again. EBUSY: a mutex of this type makes its
 * owner wait for itself.
 */
static inline int wf_libc_mutex_lock_again(pthread_mutex_t *m)
{
	switch (wf_libc_mutex_type(m)) {
	case PTHREAD_MUTEX_ERRORCHECK_NP:
		return EDEADLK;
	case PTHREAD_MUTEX_RECURSIVE_NP:
		return ++m->libc_count != 0 ? 0 : (--m->libc_count, EAGAIN);
	}
	return EBUSY;
}

#endif
