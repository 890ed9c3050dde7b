/*
 * Where there is one VP, its owner goes without the locks of the wait table.
 *
 *     wf_sole_lock(vp, &b->lock);     perhaps nobody else is at any bucket
 *     ...
 *     wf_sole_unlock(vp, &b->lock);   either way
 *
 * A locked instruction costs as much as twenty others, and a turn of a
 * semaphore would have two, to keep out somebody who hardly ever comes: a bound
 * or a foreign thread, or a kernel thread of weft's own, here an *outsider*.
 *
 * SOLE-1. state says who may be at a bucket:
 *     LOCKS    whoever has its lock
 *     OWN      the VP's owner, while `inside` of the VP is 1
 *     REVOKED  the owner with its lock; outsiders wait for LOCKS
 *     NEVER    whoever has its lock, for good: there are other VPs
 *     LOCKS -> OWN [own_table], OWN -> LOCKS [own_table, which regrets it],
 *     OWN -> REVOKED -> LOCKS [revoke].
 * SOLE-2. The owner stores inside, then reads state; who revokes stores state,
 *     passes a membarrier, then reads inside: one of the two sees the other.
 *     It waits until inside is 0. So from LOCKS on the owner is at no bucket
 *     without its lock, and what it wrote there is seen.
 * SOLE-3. An outsider counts itself, then reads state, and is counted until it
 *     has unlocked. The owner stores OWN, passes a fence, then reads the count,
 *     and goes back to LOCKS if it is not 0. So in OWN no outsider has a lock.
 * SOLE-4. The owner takes the table when it has no lock: it alone knows that.
 * SOLE-5. To take it pays once the owner has locked often with no revocation in
 *     between: what it has paid for locks by then is what a revocation costs,
 *     several times. So revocations cost a part of what is saved.
 *
 * inside is a spin lock's word, so that who waits for it waits as others do.
 * test/model/sole.pml is this in all its states.
 *
 * Rejected: the same for each of several VPs, with buckets that belong to one.
 * Words are used from all VPs, and a revocation takes 2 us and more.
 */
#ifndef WEFT_WAIT_SOLE_H
#define WEFT_WAIT_SOLE_H

#include "sched/vp.h"

enum wf_sole_state {
	WF_SOLE_LOCKS = 0,
	WF_SOLE_OWN,
	WF_SOLE_REVOKED,
	WF_SOLE_NEVER,
};

struct wf_sole {
	_Atomic uint32_t state;	       /* enum wf_sole_state */
	_Atomic uint32_t nr_outsiders; /* SOLE-3; no matter in NEVER */
	struct wf_spin lock;	       /* of who revokes */
} WF_ALIGNED(WF_CACHE_LINE);

extern struct wf_sole wf_sole;

/* When the number of VPs is known. */
void wf_sole_init(uint32_t nr_vps);
void wf_sole_fork_child(void);

/* As wf_spin_lock, if wf_sole_begin says no. vp NULL: an outsider. */
WF_NOINLINE void wf_sole_lock_slow(struct wf_vp *vp, struct wf_spin *lock);
WF_NOINLINE void wf_sole_end_outsider(struct wf_spin *lock);

/* With in_runtime set; vp is the caller's own, or NULL. True: it is alone. */
static inline bool wf_sole_begin(struct wf_vp *vp)
{
	if (wf_load_relaxed(&wf_sole.state) != WF_SOLE_OWN || vp == NULL)
		return false;
	wf_store_relaxed(&vp->inside.word, 1);
	wf_compiler_barrier(); /* SOLE-2; the CPU's part is the membarrier. */
	/* acquire: what outsiders wrote; pairs with revoke. */
	if (WF_LIKELY(wf_load_acquire(&wf_sole.state) == WF_SOLE_OWN))
		return true;
	wf_spin_unlock(&vp->inside);
	return false;
}

static inline void wf_sole_lock(struct wf_vp *vp, struct wf_spin *lock)
{
	if (wf_sole_begin(vp))
		return;
	if (WF_LIKELY(wf_load_relaxed(&wf_sole.state) == WF_SOLE_NEVER))
		wf_spin_lock(lock);
	else
		wf_sole_lock_slow(vp, lock);
}

/* The caller has locked a bucket: is it alone with all others, too? */
static inline bool wf_sole_is_alone(const struct wf_vp *vp)
{
	return vp != NULL && wf_load_relaxed(&vp->inside.word) != 0;
}

static inline void wf_sole_unlock(struct wf_vp *vp, struct wf_spin *lock)
{
	if (WF_UNLIKELY(vp == NULL)) {
		wf_sole_end_outsider(lock);
		return;
	}
	/* Nobody has the lock if the caller was alone: it is 0 and stays so. */
	wf_spin_unlock(lock);
	/* release: pairs with the acquire in revoke. */
	wf_spin_unlock(&vp->inside);
}

#endif
