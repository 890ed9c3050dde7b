/*
 * What waits, for those who do not take it: the monitor, and an idle VP before
 * it sleeps. All of it may have changed by the time that they know.
 */
#include "sched/entry.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/vp_io.h"

static uint32_t entries_of_i(const struct wf_vp *vp)
{
	return wf_runq_live(&vp->ring_i, wf_entry_is_stale) +
	       wf_inject_len(&vp->inbox) +
	       (wf_load_relaxed(&vp->lifo) != WF_ENTRY_NONE) +
	       (wf_inject_len(&wf_sched.inject) != 0);
}

uint32_t wf_queue_waiting_i(const struct wf_vp *vp)
{
	return entries_of_i(vp) + wf_vp_io_is_waiting(vp);
}

uint32_t wf_queue_waiting_b(const struct wf_vp *vp)
{
	return wf_runq_len(&vp->ring_b);
}

/* Entries where no other VP looks. */
static bool has_private(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->lifo) != WF_ENTRY_NONE ||
	       wf_inject_len(&vp->inbox) != 0;
}

bool wf_queue_has_own(const struct wf_vp *vp)
{
	return has_private(vp) || wf_vp_io_is_waiting(vp);
}

bool wf_queue_is_asked(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->look) != 0 ||
	       wf_inject_len(&wf_sched.inject) != 0;
}

bool wf_queue_has_work(const struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_vp_is_offline(vp)))
		return has_private(vp) || wf_vp_io_has_done(vp) ||
		       wf_runq_len(&vp->ring_i) + wf_runq_len(&vp->ring_b) > 0;
	if (entries_of_i(vp) + wf_queue_waiting_b(vp) > 0 ||
	    wf_vp_io_has_done(vp) || wf_realtime_waits(1))
		return true;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (wf_runq_len(&wf_sched.vps[i].ring_b) > 0)
			return true;
	}
	return wf_load_relaxed(&wf_sched.surplus) != WF_SURPLUS_NONE;
}
