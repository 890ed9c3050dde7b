/* SPDX-License-Identifier: MIT */
/*
 * Measures how long runnable threads wait, at a cost for each tick and not for
 * each thread. At each tick the monitor marks the end of each run queue and
 * notes the CPU time that the VP has used. When the head of the queue passes
 * the mark, all threads before the mark have run. The VP's CPU time since the
 * mark is then how long the last of them has waited. The longest such time goes
 * into the counters.
 */
#include "monitor/latency_stats.h"

static void update_for_queue(struct wf_latency *latency,
			     const struct wf_runq *queue, int64_t vp_ns,
			     int64_t *longest_ns)
{
	uint32_t first, end;

	wf_runq_positions(queue, &first, &end);
	wf_latency_update(latency, first, end, vp_ns, longest_ns);
}

/*
 * Measures the waits in the next slot and the remote queue, which the owner
 * empties at its next switch.
 */
static void update_for_next(struct wf_vp *vp, int64_t *longest_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	uint64_t switches = wf_load_relaxed(&vp->counters.switches);
	bool any = wf_load_relaxed(&vp->next_slot) != 0 ||
		   wf_inject_len(&vp->remote) != 0;

	if (!any || switches != w->next_switches) {
		w->next_switches = switches;
		w->next_ns = w->vp_ns;
	} else if (w->vp_ns - w->next_ns > *longest_ns) {
		*longest_ns = w->vp_ns - w->next_ns;
	}
}

static void note_longest(struct wf_vp *vp, int64_t longest_ns)
{
	_Atomic uint64_t *longest_us = &vp->counters.runnable_wait_most_us;

	if ((uint64_t)longest_ns / 1000 > wf_load_relaxed(longest_us))
		wf_store_relaxed(longest_us, (uint64_t)longest_ns / 1000);
}

void wf_latency_stats_update(struct wf_vp *vp)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t longest_ns = 0;

	update_for_queue(&w->latency_interactive, &vp->interactive, w->vp_ns,
			 &longest_ns);
	update_for_queue(&w->latency_batch, &vp->batch, w->vp_ns, &longest_ns);
	update_for_next(vp, &longest_ns);
	note_longest(vp, longest_ns);
}

/*
 * Measures the waits in the injection queue. All VPs share it, so the mean CPU
 * time of the VPs counts.
 */
void wf_latency_stats_update_injected(void)
{
	struct wf_sched *s = &wf_sched;
	uint32_t first = wf_load_relaxed(&s->inject.nr_popped);
	int64_t vp_ns = 0, longest_ns = 0;

	for (uint32_t i = 0; i < s->nr_vps; i++)
		vp_ns += s->vps[i].watch.vp_ns;
	wf_latency_update(&s->latency_inject, first,
			  first + wf_inject_len(&s->inject), vp_ns / s->nr_vps,
			  &longest_ns);
	note_longest(&s->vps[0], longest_ns);
}

void wf_latency_stats_reset(void)
{
	wf_sched.latency_inject.nr = 0;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp_watch *w = &wf_sched.vps[i].watch;

		w->latency_interactive.nr = 0;
		w->latency_batch.nr = 0;
		w->next_switches = UINT64_MAX;
	}
}
