/* SPDX-License-Identifier: MIT */
/*
 * A biased lock: with one VP, its owner passes the locks of the wait table
 * without an atomic instruction.
 *
 *     wf_biased_lock(vp, &b->lock);     the owner may take no lock at all
 *     ...
 *     wf_biased_unlock(vp, &b->lock);   in both cases
 *
 * A locked instruction costs as much as twenty others, and each operation on a
 * semaphore would have two. They would only keep out threads that are rarely at
 * a bucket: bound and foreign threads, and weft's kernel threads. Such a thread
 * is a *revoking thread* here.
 *
 * BIASED-1. state says which thread may be at a bucket:
 *     LOCKS    the thread that has its lock
 *     OWNED    the VP's owner, while `inside` of the VP is 1
 *     REVOKED  the owner with its lock; revoking threads wait for LOCKS
 *     NEVER    the thread that has its lock; final, as there are other VPs
 *     LOCKS -> OWNED [own_table], OWNED -> LOCKS [own_table, if revokers],
 *     OWNED -> REVOKED -> LOCKS [revoke].
 * BIASED-2. The owner stores inside, then reads state. The revoking thread
 *     stores state, passes a membarrier, then reads inside. So at least one of
 *     the two reads the store of the other. The revoking thread waits until
 *     inside is 0. So from LOCKS on the owner is at no bucket without its lock,
 *     and its earlier writes are visible.
 * BIASED-3. A revoking thread counts itself, then reads state, and is counted
 *     until it has unlocked. The owner stores OWNED, passes a fence, then reads
 *     the count, and goes back to LOCKS if it is not 0. So in OWNED no revoking
 *     thread has a lock.
 * BIASED-4. The owner takes the table when it has no lock: only the owner knows
 *     that.
 * BIASED-5. The owner takes the table after many locks without a revocation. By
 *     then it has paid several times the cost of a revocation for locks. So
 *     revocations cost only a part of the savings.
 *
 * A revoking thread waits for `inside` as for any spin lock.
 * test/model/biased.pml is a model of all states.
 *
 * Rejected: a biased lock for each of several VPs, with buckets that belong to
 * a VP. All VPs use the same words, and a revocation takes 2 us and more.
 */
#ifndef WEFT_WAIT_BIASED_H
#define WEFT_WAIT_BIASED_H

#include "sched/vp.h"

enum wf_biased_state {
	WF_BIASED_LOCKS = 0,
	WF_BIASED_OWNED,
	WF_BIASED_REVOKED,
	WF_BIASED_NEVER,
};

struct wf_biased {
	_Atomic uint32_t state; /* enum wf_biased_state */
	/* revoking threads: BIASED-3; unused in NEVER */
	_Atomic uint32_t nr_revokers;
	struct wf_spin lock; /* held while a thread revokes */
} WF_ALIGNED(WF_CACHE_LINE);

extern struct wf_biased wf_biased;

/* Called when the number of VPs is known. */
void wf_biased_init(uint32_t nr_vps);
void wf_biased_fork_child(void);

/*
 * Locks as wf_spin_lock, when wf_biased_begin has returned false. vp is NULL in
 * a revoking thread.
 */
WF_NOINLINE void wf_biased_lock_slow(struct wf_vp *vp, struct wf_spin *lock);
WF_NOINLINE void wf_biased_end_revoker(struct wf_spin *lock);

/*
 * Begins to use a bucket. Returns true if the caller needs no lock until it
 * unlocks `inside`. vp is the caller's VP, or NULL. The caller has in_runtime
 * set.
 */
WF_INLINE bool wf_biased_begin(struct wf_vp *vp)
{
	if (wf_load_relaxed(&wf_biased.state) != WF_BIASED_OWNED || vp == NULL)
		return false;
	wf_store_relaxed(&vp->inside.word, WF_SPIN_LOCKED(WF_RANK_BUCKET));
	wf_compiler_barrier(); /* BIASED-2; membarrier orders the CPU. */
	/* acquire: reads the writes of revoking threads; pairs with the release
	 * in revoke. */
	if (WF_LIKELY(wf_load_acquire(&wf_biased.state) == WF_BIASED_OWNED)) {
		wf_rank_check(WF_RANK_BUCKET);
		wf_rank_taken(WF_RANK_BUCKET);
		return true;
	}
	wf_spin_unlock(&vp->inside);
	return false;
}

WF_INLINE void wf_biased_lock(struct wf_vp *vp, struct wf_spin *lock)
{
	if (wf_biased_begin(vp))
		return;
	if (WF_LIKELY(wf_load_relaxed(&wf_biased.state) == WF_BIASED_NEVER))
		wf_spin_lock(lock, WF_RANK_BUCKET);
	else
		wf_biased_lock_slow(vp, lock);
}

/*
 * True if the caller, which is at a bucket, may pass all other buckets without
 * locks, too.
 */
static inline bool wf_biased_is_alone(const struct wf_vp *vp)
{
	return vp != NULL && wf_load_relaxed(&vp->inside.word) != 0;
}

static inline void wf_biased_unlock(struct wf_vp *vp, struct wf_spin *lock)
{
	if (WF_UNLIKELY(vp == NULL)) {
		wf_biased_end_revoker(lock);
		return;
	}
	/* If the caller took no lock, the word is 0, and unlocking leaves it
	 * so. */
	wf_spin_unlock(lock);
	/* release: pairs with the acquire in revoke. */
	wf_spin_unlock(&vp->inside);
}

#endif
