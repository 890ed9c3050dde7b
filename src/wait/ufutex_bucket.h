/* SPDX-License-Identifier: MIT */
/*
 * The buckets of the user futex: lists of waiters, keyed by address.
 *
 *     struct wf_bucket *b = wf_bucket_of(addr);
 *
 *     struct wf_bucket_hold hold = wf_bucket_lock(me, b);
 *     wf_bucket_add_locked(b, t);
 *     wf_bucket_unlock(me, b, hold);
 *
 * The caller has in_runtime set. Signals are closed meanwhile (wait/closed.h).
 * `me` is as in wf_ready_woken. Comments on a bucket's lock also hold for the
 * owner of the biased lock, which passes all buckets without a lock
 * (wait/biased.h). But then locking is no fence.
 */
#ifndef WEFT_WAIT_UFUTEX_BUCKET_H
#define WEFT_WAIT_UFUTEX_BUCKET_H

#include "base/spin.h"
#include "os/mem.h"
#include "sched/thread.h"
#include "wait/biased.h"
#include "wait/closed.h"

/*
 * The number of buckets is a power of two, with this exponent. With 2^17
 * buckets and a million waiters on as many words a list has 8 waiters. With
 * 100,000 waiters most lists have one: each further waiter costs a cache miss
 * on the way to the wanted one. The buckets are zero pages, so a bucket that no
 * word uses costs no memory. But the table's 2 MiB count against a limit on
 * memory. If there is a limit, the exponent is WF_FEW_BUCKET_BITS.
 */
enum { WF_BUCKET_BITS = 17, WF_FEW_BUCKET_BITS = 10 };

struct wf_bucket {
	/*
	 * The first waiter of a circular list; NULL if no thread waits. Of the
	 * threads that wait for one word, the highest priority is first. Within
	 * a priority the starving threads are first, the longest first, then
	 * the other waiters in order of arrival.
	 */
	struct wf_thread *first;
	struct wf_spin lock;
};

/*
 * Where the buckets are. Constant once a thread waits; see
 * wf_bucket_table_choose.
 */
struct wf_bucket_table {
	struct wf_bucket *buckets;
	/* there are at least 1 << (64 - shift) buckets */
	_Atomic uint32_t shift;
	_Atomic bool is_chosen;
};
extern struct wf_bucket_table wf_bucket_table;

/*
 * Makes the table unless it has been made. Called before the first wait. A
 * waker that still reads the old table searches it for earlier waiters, and
 * there are none. Several threads may call it at a time. The caller has
 * in_runtime set.
 */
void wf_bucket_table_choose(void);

/*
 * Neighbouring words have neighbouring buckets: the words of a page fall into a
 * few pages of buckets. Words of one cache line, as a condition's and its
 * mutex's often are, have buckets far apart. So a search for one does not pass
 * the waiters of the other.
 */
WF_INLINE struct wf_bucket *wf_bucket_of(const void *addr)
{
	/* The number of the cache line within its page. */
	uint64_t near = ((uintptr_t)addr >> 6) & 63;
	/* The page, in bits 7 and up, and the half of the line, in bit 0. */
	uint64_t far = ((uintptr_t)addr >> 5) & ~UINT64_C(0x7e);
	/*
	 * A page counts 128 times as much. So the pages of dense words get
	 * numbers in sequence, which hashing by the golden ratio spreads best.
	 * Bit 0 counts half of the table.
	 */
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15) >> 7 |
				UINT64_C(1) << 63;

	/* acquire: the table; pairs with the release in choose_locked. */
	uint32_t shift = wf_load_acquire(&wf_bucket_table.shift);

	return &wf_bucket_table.buckets[((far * factor) >> shift) ^ near];
}

/* Kept by the thread that locks a bucket, until it unlocks. */
struct wf_bucket_hold {
	struct wf_vp *vp; /* the caller's, or NULL */
	uint64_t mask;	  /* of wf_signals_close; only if vp is NULL */
};

/* A caller with a VP is on a carrier, where no signal has to be closed. */
WF_INLINE struct wf_bucket_hold wf_bucket_lock(const struct wf_thread *me,
					       struct wf_bucket *b)
{
	struct wf_bucket_hold hold = { .vp = me != NULL ? wf_vp_of(me) : NULL };

	if (WF_UNLIKELY(hold.vp == NULL) && me != NULL)
		hold.mask = wf_signals_close(me);
	wf_biased_lock(hold.vp, &b->lock);
	return hold;
}

WF_INLINE void wf_bucket_unlock(const struct wf_thread *me, struct wf_bucket *b,
				struct wf_bucket_hold hold)
{
	wf_biased_unlock(hold.vp, &b->lock);
	if (WF_UNLIKELY(hold.vp == NULL) && me != NULL)
		wf_signals_open(me, hold.mask);
}

/*
 * Locks a second bucket. `vp` is the caller's, as in its hold of the first.
 * Returns false if another thread has its lock. */
static inline bool wf_bucket_trylock_beside(struct wf_vp *vp,
					    struct wf_bucket *b)
{
	return wf_biased_is_alone(vp) ||
	       wf_spin_trylock(&b->lock, WF_RANK_BUCKET_BESIDE);
}

static inline void wf_bucket_lock_beside(struct wf_vp *vp, struct wf_bucket *b)
{
	if (!wf_biased_is_alone(vp))
		wf_spin_lock(&b->lock, WF_RANK_BUCKET_BESIDE);
}

/*
 * Unlocks the second bucket, before the first. If the caller took no locks, the
 * lock is 0 and stays 0.
 */
static inline void wf_bucket_unlock_beside(struct wf_bucket *b)
{
	wf_spin_unlock(&b->lock);
}

/*
 * Locks b for a wait of t. Stores wait_bucket before the caller reads
 * exit_work. A sender of signals sets exit_work, then reads wait_bucket, and
 * reads it again after a membarrier. A caller that does not wait after all
 * stores NULL before it unlocks.
 */
WF_INLINE struct wf_bucket_hold wf_bucket_lock_to_wait(struct wf_thread *t,
						       struct wf_bucket *b)
{
	wf_store_relaxed(&t->wait_bucket, b);
	return wf_bucket_lock(t, b);
}

/* Returns the waiter after t in b's list, or NULL. */
static inline struct wf_thread *
wf_bucket_after_locked(const struct wf_bucket *b, const struct wf_thread *t)
{
	return t->wait_next != b->first ? t->wait_next : NULL;
}

/*
 * Returns the first waiter for t's word that t comes before by priority, or
 * NULL.
 */
struct wf_thread *wf_bucket_below_locked(const struct wf_bucket *b,
					 const struct wf_thread *t);

static inline void wf_bucket_add_locked(struct wf_bucket *b,
					struct wf_thread *t)
{
	struct wf_thread *below = NULL, *at = b->first;

	if (WF_UNLIKELY(t->rt_priority != 0 || t->is_starving))
		below = wf_bucket_below_locked(b, t);
	if (at == NULL) {
		t->wait_next = t->wait_prev = t;
	} else {
		at = below != NULL ? below : at;
		t->wait_next = at;
		t->wait_prev = at->wait_prev;
		at->wait_prev->wait_next = t;
		at->wait_prev = t;
	}
	if (below == b->first)
		b->first = t;
	wf_store_relaxed(&t->wait_bucket, b);
}

static inline void wf_bucket_remove_locked(struct wf_bucket *b,
					   struct wf_thread *t)
{
	struct wf_thread *next = t->wait_next;

	if (WF_LIKELY(next == t)) {
		b->first = NULL;
		return;
	}
	if (b->first == t)
		b->first = next;
	t->wait_prev->wait_next = next;
	next->wait_prev = t->wait_prev;
}

/* Takes t out of the list and ends its wait. */
WF_INLINE void wf_bucket_take_locked(struct wf_bucket *b, struct wf_thread *t,
				     int result)
{
	wf_bucket_remove_locked(b, t);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->wait_bucket, NULL); /* UFUTEX-1: in no wait */
	/* UFUTEX-3: the taker sets it */
	t->wait_result = result;
}

#endif
