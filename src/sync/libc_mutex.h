/*
 * Mutexes in libc's layout, whichever of weft's files locks them. None blocks.
 */
#ifndef WEFT_SYNC_LIBC_MUTEX_H
#define WEFT_SYNC_LIBC_MUTEX_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "sync/mutex.h"

static inline _Atomic uint32_t *wf_libc_mutex_word(const pthread_mutex_t *m)
{
	return (_Atomic uint32_t *)&m->__data.__lock;
}

static inline bool wf_libc_mutex_is_robust(const pthread_mutex_t *m)
{
	return (m->__data.__kind & WF_MUTEX_ROBUST) != 0;
}

/* PTHREAD_MUTEX_..._NP */
static inline int wf_libc_mutex_type(const pthread_mutex_t *m)
{
	return m->__data.__kind & WF_MUTEX_TYPE;
}

/* The owner locks once more. EBUSY: this type lets it wait for itself. */
static inline int wf_libc_mutex_lock_again(pthread_mutex_t *m)
{
	switch (wf_libc_mutex_type(m)) {
	case PTHREAD_MUTEX_ERRORCHECK_NP:
		return EDEADLK;
	case PTHREAD_MUTEX_RECURSIVE_NP:
		return ++m->__data.__count != 0 ? 0 :
						  (--m->__data.__count, EAGAIN);
	}
	return EBUSY;
}

#endif
