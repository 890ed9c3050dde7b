/* SPDX-License-Identifier: MIT */
/*
 * A tick costs the monitor 20 us where a hypervisor sets the timers, and costs
 * the interrupted threads their caches. A server with a CPU to itself lost 4 %
 * by ticks of 1 ms. So the interval is four ticks once busy VPs have only
 * switched for 32 ticks, without CPU-bound threads. The price is delay: a
 * thread that computes is preempted up to 3 ms later, or a thread that blocks
 * loses its VP up to 3 ms later. The first of these events makes the interval
 * one tick again, for 32 ticks.
 */
#include "monitor/tick_interval.h"

#include "monitor/tick.h"
#include "sched/inject.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/vp.h"

enum {
	TICKS_BEFORE_CALM = 32,
	TICKS_IN_CALM = 4,
};

void wf_tick_interval_update(struct wf_tick_interval *interval)
{
	interval->most = 0;
	interval->least = UINT64_MAX;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		uint64_t switches = wf_load_relaxed(&vp->counters.switches);
		uint64_t nr = switches - vp->watch.lively_switches;

		vp->watch.lively_switches = switches;
		if (nr > interval->most)
			interval->most = nr;
		if (nr < interval->least && wf_load_relaxed(&vp->cur) != NULL)
			interval->least = nr;
	}
}

/*
 * True if a VP runs a CPU-bound thread or has a batch thread, as far as weft
 * knows.
 */
static bool does_anybody_compute(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];
		const struct wf_thread *t = wf_load_acquire(&vp->cur);

		if (wf_queue_nr_batch(vp) > 0 ||
		    (t != NULL && (t->from_batch || wf_thread_is_cpu_bound(t))))
			return true;
	}
	return false;
}

/* True if a thread waits in a queue that VPs poll only after a tick. */
static bool is_poll_needed(void)
{
	return wf_realtime_waits(1) || wf_inject_len(&wf_sched.inject) > 0;
}

int64_t wf_tick_interval_next(struct wf_tick_interval *interval,
			      bool may_be_calm)
{
	bool was_long = interval->nr_calm >= TICKS_BEFORE_CALM;
	uint64_t nr_ticks = was_long ? TICKS_IN_CALM : 1;

	if (may_be_calm && interval->least >= WF_TICK_LIVELY * nr_ticks &&
	    !does_anybody_compute() && !is_poll_needed())
		interval->nr_calm++;
	else
		interval->nr_calm = 0;
	return (interval->nr_calm >= TICKS_BEFORE_CALM ? TICKS_IN_CALM : 1) *
	       (int64_t)WF_MONITOR_TICK_NS;
}
