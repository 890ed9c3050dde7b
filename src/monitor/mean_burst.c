/* SPDX-License-Identifier: MIT */
/*
 * At each tick this compares the CPU time of a VP with its number of bursts,
 * the times between two switches. The VP's threads run long if a mean burst
 * takes twice as long as a wake of another VP. Sleeps count like bursts, since
 * they cost as much as a wake. Otherwise threads that are woken on one VP after
 * the other would seem to run long because of the sleeps. used_ns is -1 if the
 * CPU time is not known. Then the answer stays as it is, unless the bursts are
 * too many for the whole time since the last tick.
 */
#include "monitor/mean_burst.h"

#include "sched/idle.h"

void wf_mean_burst_update(struct wf_vp *vp, int64_t now_ns, int64_t used_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	uint64_t runs = wf_load_relaxed(&vp->counters.switches) +
			wf_load_relaxed(&vp->counters.sleeps);
	bool was_long = wf_load_relaxed(&vp->runs_long), is_long;

	/* One burst tells nothing of the threads that follow it. */
	if (used_ns > 0 && runs - w->runs > 1)
		wf_vp_set_starvation_bound(vp,
					   used_ns / (int64_t)(runs - w->runs));
	if (used_ns < 0)
		used_ns = was_long ? now_ns - w->runs_ns : 0;
	is_long = used_ns >
		  (int64_t)(runs - w->runs + 1) * 2 * wf_idle_wake_cost();
	w->runs = runs;
	w->runs_ns = now_ns;
	if (is_long != was_long)
		wf_store_relaxed(&vp->runs_long, is_long);
}
