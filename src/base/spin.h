/* SPDX-License-Identifier: MIT */
/*
 * Spin lock for the runtime's short critical sections.
 *
 *     wf_spin_lock(&b->lock);
 *     ...                         at most a few hundred instructions, no
 *                                 system call that may block, no page of the
 *                                 program that may fault
 *     wf_spin_unlock(&b->lock);
 *
 * A holder has in_runtime set, so weft never preempts it, but the kernel may.
 * So a waiter spins for a limited time, then yields the CPU, then sleeps
 * briefly. A holder with a lower real-time priority on the same CPU can run
 * only then.
 */
#ifndef WEFT_BASE_SPIN_H
#define WEFT_BASE_SPIN_H

#include "base/atomic.h"
#include "base/compiler.h"

struct wf_spin {
	_Atomic uint32_t word; /* 0 is free, 1 is locked */
};

#define WF_SPIN_INIT ((struct wf_spin){ 0 })

/* Spins, then yields the CPU, then sleeps. Provided by os/. */
WF_COLD void wf_spin_lock_slow(struct wf_spin *s);

static inline bool wf_spin_trylock(struct wf_spin *s)
{
	/* acquire: pairs with the release in wf_spin_unlock. */
	return atomic_exchange_explicit(&s->word, 1, memory_order_acquire) == 0;
}

static inline void wf_spin_lock(struct wf_spin *s)
{
	if (WF_UNLIKELY(!wf_spin_trylock(s)))
		wf_spin_lock_slow(s);
}

static inline void wf_spin_unlock(struct wf_spin *s)
{
	/* release: publishes the section; pairs with wf_spin_trylock. */
	wf_store_release(&s->word, 0);
}

#endif
