/* SPDX-License-Identifier: MIT */
/*
 * A biased lock: where there is one VP, its owner goes without the locks of the
 * wait table.
 *
 *     wf_biased_lock(vp, &b->lock);     perhaps no other thread is at a bucket
 *     ...
 *     wf_biased_unlock(vp, &b->lock);   either way
 *
 * A locked instruction costs as much as twenty others, and a turn of a
 * semaphore would have two. They would keep out threads that hardly ever come:
 * bound and foreign threads, and weft's own kernel threads. Such a thread is a
 * *revoking thread* here.
 *
 * BIASED-1. state says which thread may be at a bucket:
 *     LOCKS    the thread that has its lock
 *     OWNED    the VP's owner, while `inside` of the VP is 1
 *     REVOKED  the owner with its lock; revoking threads wait for LOCKS
 *     NEVER    the thread that has its lock, for good: there are other VPs
 *     LOCKS -> OWNED [own_table], OWNED -> LOCKS [own_table, which regrets it],
 *     OWNED -> REVOKED -> LOCKS [revoke].
 * BIASED-2. The owner stores inside, then reads state. The thread that revokes
 *     stores state, passes a membarrier, then reads inside: one of the two sees
 *     the other. It waits until inside is 0. So from LOCKS on the owner is at
 *     no bucket without its lock, and what it wrote there is visible.
 * BIASED-3. A revoking thread counts itself, then reads state, and is counted
 *     until it has unlocked. The owner stores OWNED, passes a fence, then reads
 *     the count, and goes back to LOCKS if it is not 0. So in OWNED no revoking
 *     thread has a lock.
 * BIASED-4. The owner takes the table when it has no lock: it alone knows that.
 * BIASED-5. To take it pays once the owner has locked often with no revocation
 *     in between: what it has paid for locks by then is what a revocation
 *     costs, several times. So revocations cost a part of what is saved.
 *
 * inside is a spin lock's word: a thread waits for it as for any spin lock.
 * test/model/biased.pml is this in all its states.
 *
 * Rejected: the same for each of several VPs, with buckets that belong to one.
 * Words are used from all VPs, and a revocation takes 2 us and more.
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
	_Atomic uint32_t state;	      /* enum wf_biased_state */
	_Atomic uint32_t nr_revokers; /* BIASED-3; no matter in NEVER */
	struct wf_spin lock;	      /* of the thread that revokes */
} WF_ALIGNED(WF_CACHE_LINE);

extern struct wf_biased wf_biased;

/* When the number of VPs is known. */
void wf_biased_init(uint32_t nr_vps);
void wf_biased_fork_child(void);

/* As wf_spin_lock, if wf_biased_begin says no. vp NULL: a revoking thread. */
WF_NOINLINE void wf_biased_lock_slow(struct wf_vp *vp, struct wf_spin *lock);
WF_NOINLINE void wf_biased_end_revoker(struct wf_spin *lock);

/* With in_runtime set; vp is the caller's own, or NULL. True: it is alone. */
static inline bool wf_biased_begin(struct wf_vp *vp)
{
	if (wf_load_relaxed(&wf_biased.state) != WF_BIASED_OWNED || vp == NULL)
		return false;
	wf_store_relaxed(&vp->inside.word, 1);
	wf_compiler_barrier(); /* BIASED-2; the CPU's part is the membarrier. */
	/* acquire: what revoking threads wrote; pairs with revoke. */
	if (WF_LIKELY(wf_load_acquire(&wf_biased.state) == WF_BIASED_OWNED))
		return true;
	wf_spin_unlock(&vp->inside);
	return false;
}

static inline void wf_biased_lock(struct wf_vp *vp, struct wf_spin *lock)
{
	if (wf_biased_begin(vp))
		return;
	if (WF_LIKELY(wf_load_relaxed(&wf_biased.state) == WF_BIASED_NEVER))
		wf_spin_lock(lock);
	else
		wf_biased_lock_slow(vp, lock);
}

/* The caller has locked a bucket: is it alone with all others, too? */
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
	/* Nobody has the lock if the caller was alone: it is 0 and stays so. */
	wf_spin_unlock(lock);
	/* release: pairs with the acquire in revoke. */
	wf_spin_unlock(&vp->inside);
}

#endif
