#include "wait/sole.h"

#include "os/kthread.h"

/* A revocation costs some us, and a lock 5 ns: SOLE-5. */
enum { LOCKS_BEFORE_OWN = 8192 };

struct wf_sole wf_sole;

void wf_sole_init(uint32_t nr_vps)
{
	bool is_sole = nr_vps == 1 && wf_os_membarrier() == 0;

	/* Else it is LOCKS, and has counted outsiders from the beginning. */
	if (!is_sole)
		wf_store_relaxed(&wf_sole.state, WF_SOLE_NEVER);
}

void wf_sole_fork_child(void)
{
	wf_sole = (struct wf_sole){ 0 };
}

/* SOLE-3, SOLE-4 */
static void own_table(void)
{
	uint32_t state = WF_SOLE_LOCKS;

	if (wf_load_relaxed(&wf_sole.nr_outsiders) != 0 ||
	    !wf_cas_acq_rel(&wf_sole.state, &state, WF_SOLE_OWN))
		return;
	wf_fence_seq_cst(); /* pairs with the counting in begin_outsider */
	/* acquire: what outsiders wrote; pairs with wf_sole_end_outsider. */
	if (wf_load_acquire(&wf_sole.nr_outsiders) == 0)
		return;
	state = WF_SOLE_OWN;
	wf_cas_acq_rel(&wf_sole.state, &state, WF_SOLE_LOCKS);
}

/* SOLE-2 */
static WF_COLD void revoke(void)
{
	struct wf_spin *inside = &wf_sched.vps[0].inside;
	uint32_t state = WF_SOLE_OWN;

	wf_spin_lock(&wf_sole.lock);
	if (wf_cas_acq_rel(&wf_sole.state, &state, WF_SOLE_REVOKED)) {
		wf_os_pass_barrier();
		wf_spin_lock(inside);
		wf_spin_unlock(inside);
		/* release: pairs with begin_outsider. */
		wf_store_release(&wf_sole.state, WF_SOLE_LOCKS);
	}
	wf_spin_unlock(&wf_sole.lock);
}

static void begin_outsider(void)
{
	uint32_t state;

	/* seq_cst: before the check of the state (SOLE-3). */
	atomic_fetch_add(&wf_sole.nr_outsiders, 1);
	/* acquire: the owner is out; pairs with revoke. */
	state = wf_load_acquire(&wf_sole.state);
	if (state == WF_SOLE_OWN || state == WF_SOLE_REVOKED)
		revoke();
}

void wf_sole_lock_slow(struct wf_vp *vp, struct wf_spin *lock)
{
	if (vp == NULL) {
		begin_outsider();
	} else if (++vp->nr_locks == LOCKS_BEFORE_OWN) {
		vp->nr_locks = 0;
		own_table();
		if (wf_sole_begin(vp))
			return;
	}
	wf_spin_lock(lock);
}

void wf_sole_end_outsider(struct wf_spin *lock)
{
	wf_spin_unlock(lock);
	if (wf_load_relaxed(&wf_sole.state) != WF_SOLE_NEVER)
		/* release: pairs with the acquire in own_table. */
		atomic_fetch_sub_explicit(&wf_sole.nr_outsiders, 1,
					  memory_order_release);
}
