/* SPDX-License-Identifier: MIT */
/*
 * pthread_spinlock_t: spins for a moment, then yields to other threads.
 *
 *     wf_spinlock_init(&s);
 *     wf_spinlock_lock(&s);
 *     ...
 *     wf_spinlock_unlock(&s);
 *
 * (struct wf_spin in base/ is for the runtime.) Nothing marks a process-shared
 * lock, so all have libc's values. Never parks. A signal handler may try.
 */
#ifndef WEFT_SYNC_SPIN_H
#define WEFT_SYNC_SPIN_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"

/*
 * struct wf_spinlock.word. libc's lock decrements it and may leave it below 0.
 */
enum wf_spinlock_word {
#if defined(__x86_64__)
	WF_SPINLOCK_FREE = 1,
	WF_SPINLOCK_HELD = 0,
#else
	WF_SPINLOCK_FREE = 0,
	WF_SPINLOCK_HELD = 1,
#endif
};

struct wf_spinlock {
	_Atomic int word; /* enum wf_spinlock_word; any thread, atomic */
};

_Static_assert(sizeof(struct wf_spinlock) == sizeof(pthread_spinlock_t),
	       "the object has libc's size");

void wf_spinlock_lock_slow(struct wf_spinlock *s);

static inline bool wf_spinlock_take(struct wf_spinlock *s)
{
	/* acquire: pairs with the release in wf_spinlock_unlock. */
	return atomic_exchange_explicit(&s->word, WF_SPINLOCK_HELD,
					memory_order_acquire) ==
	       WF_SPINLOCK_FREE;
}

static inline int wf_spinlock_lock(struct wf_spinlock *s)
{
	if (WF_UNLIKELY(!wf_spinlock_take(s)))
		wf_spinlock_lock_slow(s);
	return 0;
}

static inline int wf_spinlock_trylock(struct wf_spinlock *s)
{
	return wf_spinlock_take(s) ? 0 : -EBUSY;
}

static inline int wf_spinlock_unlock(struct wf_spinlock *s)
{
	/* release: publishes the section; pairs with wf_spinlock_take. */
	wf_store_release(&s->word, WF_SPINLOCK_FREE);
	return 0;
}

static inline int wf_spinlock_init(struct wf_spinlock *s)
{
	return wf_spinlock_unlock(s);
}

#endif
