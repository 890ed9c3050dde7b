/* SPDX-License-Identifier: MIT */
/*
 * Counts and checks waiting work, for callers that do not take it: the monitor,
 * and an idle VP before it sleeps. Every result may be out of date when the
 * caller gets it.
 */
#include "sched/entry.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/vp_io.h"

static uint32_t entries_interactive(const struct wf_vp *vp)
{
	return wf_runq_live(&vp->interactive, wf_entry_is_stale) +
	       wf_inject_len(&vp->remote) +
	       (wf_load_relaxed(&vp->next_slot) != WF_ENTRY_NONE) +
	       (wf_inject_len(&wf_sched.inject) != 0);
}

uint32_t wf_queue_nr_interactive(const struct wf_vp *vp)
{
	return entries_interactive(vp) + wf_vp_io_is_waiting(vp);
}

uint32_t wf_queue_nr_batch(const struct wf_vp *vp)
{
	return wf_runq_len(&vp->batch);
}

/* True if vp has entries that other VPs cannot take. */
static bool has_private(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->next_slot) != WF_ENTRY_NONE ||
	       wf_inject_len(&vp->remote) != 0;
}

bool wf_queue_has_own(const struct wf_vp *vp)
{
	return has_private(vp) || wf_vp_io_is_waiting(vp);
}

bool wf_queue_has_pending(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->pending) != 0 ||
	       wf_inject_len(&wf_sched.inject) != 0;
}

bool wf_queue_has_work(const struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_vp_is_offline(vp)))
		return has_private(vp) || wf_vp_io_has_done(vp) ||
		       wf_runq_len(&vp->interactive) + wf_runq_len(&vp->batch) >
			       0;
	if (entries_interactive(vp) + wf_queue_nr_batch(vp) > 0 ||
	    wf_vp_io_has_done(vp) || wf_realtime_waits(1))
		return true;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (wf_runq_len(&wf_sched.vps[i].batch) > 0)
			return true;
	}
	return wf_load_relaxed(&wf_sched.stealable) != WF_STEALABLE_NONE;
}
