/* SPDX-License-Identifier: MIT */
/*
 * Spin lock for the runtime's short critical sections.
 *
 *     wf_spin_lock(&b->lock, WF_RANK_BUCKET);
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
#include "base/rank.h"
#include "base/upcall.h"

struct wf_spin {
	/* 0 is free, otherwise locked. In a debug build, bit 0 is set and the
	 * rank is in the bits above. */
	_Atomic uint32_t word;
};

#define WF_SPIN_INIT ((struct wf_spin){ 0 })

#ifdef WF_CHECK_RANKS
#define WF_SPIN_LOCKED(rank) (1 | (uint32_t)(rank) << 1)
#else
#define WF_SPIN_LOCKED(rank) 1
#endif

/* Takes the lock if it is free, whatever its rank. */
static inline bool wf_spin_take(struct wf_spin *s, enum wf_rank rank)
{
#ifdef WF_CHECK_RANKS
	uint32_t unlocked = 0;

	return wf_cas_acq_rel(&s->word, &unlocked, WF_SPIN_LOCKED(rank));
#else
	/* acquire: pairs with the release in wf_spin_unlock. */
	return atomic_exchange_explicit(&s->word, WF_SPIN_LOCKED(rank),
					memory_order_acquire) == 0;
#endif
}

/*
 * Takes the lock if it is free; returns false if not. The lock may be of any
 * rank, since the caller does not wait for it.
 */
static inline bool wf_spin_trylock(struct wf_spin *s, enum wf_rank rank)
{
	if (!wf_spin_take(s, rank))
		return false;
	wf_rank_taken(rank);
	return true;
}

static inline void wf_spin_lock(struct wf_spin *s, enum wf_rank rank)
{
	wf_rank_check(rank);
	if (WF_UNLIKELY(!wf_spin_take(s, rank)))
		wf_upcall.spin_lock_slow(s, rank);
	wf_rank_taken(rank);
}

static inline void wf_spin_unlock(struct wf_spin *s)
{
#ifdef WF_CHECK_RANKS
	wf_rank_released(wf_load_relaxed(&s->word) >> 1);
#endif
	/* release: publishes the section; pairs with wf_spin_take. */
	wf_store_release(&s->word, 0);
}

#endif
