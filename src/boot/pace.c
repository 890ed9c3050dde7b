/*
 * A tick costs the monitor 20 us where a hypervisor sets the timers, and those
 * that it interrupts their caches: a server that had a CPU for itself lost 4 %.
 * So once busy VPs have done nothing but switch for a time, with nobody that
 * computes, each fourth tick has to do. The first thread that computes then is
 * told to stop, and the first that blocks loses its VP, up to 3 ms later; after
 * that there is a tick each millisecond for a time.
 */
#include "boot/pace.h"

#include "boot/tick.h"
#include "sched/inject.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/vp.h"

enum {
	TICKS_BEFORE_CALM = 32,
	TICKS_IN_CALM = 4,
};

void wf_pace_see(struct wf_pace *pace)
{
	pace->most = 0;
	pace->least = UINT64_MAX;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		uint64_t switches = wf_load_relaxed(&vp->counters.switches);
		uint64_t nr = switches - vp->watch.lively_switches;

		vp->watch.lively_switches = switches;
		if (nr > pace->most)
			pace->most = nr;
		if (nr < pace->least && wf_load_relaxed(&vp->cur) != NULL)
			pace->least = nr;
	}
}

/* As far as is known. */
static bool does_anybody_compute(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];
		const struct wf_thread *t = wf_load_acquire(&vp->cur);

		if (wf_queue_waiting_b(vp) > 0 ||
		    (t != NULL && (t->from_b || wf_thread_is_hog(t))))
			return true;
	}
	return false;
}

/* Does anybody wait until the tick tells VPs to look? */
static bool is_looked_for(void)
{
	return wf_realtime_waits(1) || wf_inject_len(&wf_sched.inject) > 0;
}

int64_t wf_pace_next(struct wf_pace *pace, bool may_be_calm)
{
	bool was_long = pace->nr_calm >= TICKS_BEFORE_CALM;
	uint64_t nr_ticks = was_long ? TICKS_IN_CALM : 1;

	if (may_be_calm && pace->least >= WF_PACE_LIVELY * nr_ticks &&
	    !does_anybody_compute() && !is_looked_for())
		pace->nr_calm++;
	else
		pace->nr_calm = 0;
	return (pace->nr_calm >= TICKS_BEFORE_CALM ? TICKS_IN_CALM : 1) *
	       (int64_t)WF_MONITOR_TICK_NS;
}
