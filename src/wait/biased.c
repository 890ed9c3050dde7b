/* SPDX-License-Identifier: MIT */
/*
 * The owner of the only VP counts how often it locks, and takes the table after
 * LOCKS_BEFORE_OWN locks. A revoking thread counts itself, takes the table
 * back, and locks as usual. The protocol and its invariants are in
 * wait/biased.h.
 */
#include "wait/biased.h"

#include "os/kthread.h"

/*
 * After so many locks without a revocation, about 40 us, the owner takes the
 * table. A revocation costs a few us, and a lock 5 ns: BIASED-5.
 */
enum { LOCKS_BEFORE_OWN = 8192 };

struct wf_biased wf_biased;

void wf_biased_init(uint32_t nr_vps)
{
	bool is_biased = nr_vps == 1 && wf_os_membarrier() == 0;

	/*
	 * With more VPs the state is NEVER. With one it starts as LOCKS, and
	 * revoking threads count themselves from the beginning.
	 */
	if (!is_biased)
		wf_store_relaxed(&wf_biased.state, WF_BIASED_NEVER);
}

void wf_biased_fork_child(void)
{
	wf_biased = (struct wf_biased){ 0 };
}

/* Gives the owner the table. BIASED-3, BIASED-4 */
static void own_table(void)
{
	uint32_t state = WF_BIASED_LOCKS;

	if (wf_load_relaxed(&wf_biased.nr_revokers) != 0 ||
	    !wf_cas_acq_rel(&wf_biased.state, &state, WF_BIASED_OWNED))
		return;
	wf_fence_seq_cst(); /* pairs with the counting in begin_revoker */
	/*
	 * acquire: reads the writes of revoking threads; pairs with the release
	 * in wf_biased_end_revoker.
	 */
	if (wf_load_acquire(&wf_biased.nr_revokers) == 0)
		return;
	state = WF_BIASED_OWNED;
	wf_cas_acq_rel(&wf_biased.state, &state, WF_BIASED_LOCKS);
}

/* Takes the table back from the owner. BIASED-2 */
static WF_COLD void revoke(void)
{
	struct wf_spin *inside = &wf_sched.vps[0].inside;
	uint32_t state = WF_BIASED_OWNED;

	wf_spin_lock(&wf_biased.lock, WF_RANK_BIASED);
	if (wf_cas_acq_rel(&wf_biased.state, &state, WF_BIASED_REVOKED)) {
		wf_os_pass_barrier();
		wf_spin_lock(inside, WF_RANK_BUCKET);
		wf_spin_unlock(inside);
		/* release: publishes the owner's writes; pairs with the acquire
		 * in begin_revoker. */
		wf_store_release(&wf_biased.state, WF_BIASED_LOCKS);
	}
	wf_spin_unlock(&wf_biased.lock);
}

static void begin_revoker(void)
{
	uint32_t state;

	/* seq_cst: before the check of the state (BIASED-3). */
	atomic_fetch_add(&wf_biased.nr_revokers, 1);
	/* acquire: the owner has left its bucket; pairs with the release in
	 * revoke. */
	state = wf_load_acquire(&wf_biased.state);
	if (state == WF_BIASED_OWNED || state == WF_BIASED_REVOKED)
		revoke();
}

void wf_biased_lock_slow(struct wf_vp *vp, struct wf_spin *lock)
{
	if (vp == NULL) {
		begin_revoker();
	} else if (++vp->nr_locks == LOCKS_BEFORE_OWN) {
		vp->nr_locks = 0;
		own_table();
		if (wf_biased_begin(vp))
			return;
	}
	wf_spin_lock(lock, WF_RANK_BUCKET);
}

void wf_biased_end_revoker(struct wf_spin *lock)
{
	wf_spin_unlock(lock);
	if (wf_load_relaxed(&wf_biased.state) != WF_BIASED_NEVER)
		/* release: publishes this thread's writes; pairs with the
		 * acquire in own_table. */
		atomic_fetch_sub_explicit(&wf_biased.nr_revokers, 1,
					  memory_order_release);
}
