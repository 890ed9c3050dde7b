#include "boot/longest.h"

static void see_ring_waits(struct wf_waits *waits, const struct wf_runq *ring,
			   int64_t vp_ns, int64_t *longest_ns)
{
	uint32_t first, end;

	wf_runq_positions(ring, &first, &end);
	wf_waits_see(waits, first, end, vp_ns, longest_ns);
}

/* What lies in the LIFO slot or the inbox is seen at the next switch. */
static void see_next_waits(struct wf_vp *vp, int64_t *longest_ns)
{
	struct wf_vp_watch *w = &vp->watch;
	uint64_t switches = wf_load_relaxed(&vp->counters.switches);
	bool any = wf_load_relaxed(&vp->lifo) != 0 ||
		   wf_inject_len(&vp->inbox) != 0;

	if (!any || switches != w->next_switches) {
		w->next_switches = switches;
		w->next_ns = w->vp_ns;
	} else if (w->vp_ns - w->next_ns > *longest_ns) {
		*longest_ns = w->vp_ns - w->next_ns;
	}
}

static void note_longest(struct wf_vp *vp, int64_t longest_ns)
{
	_Atomic uint64_t *longest_us = &vp->counters.longest_wait_us;

	if ((uint64_t)longest_ns / 1000 > wf_load_relaxed(longest_us))
		wf_store_relaxed(longest_us, (uint64_t)longest_ns / 1000);
}

void wf_longest_see(struct wf_vp *vp)
{
	struct wf_vp_watch *w = &vp->watch;
	int64_t longest_ns = 0;

	see_ring_waits(&w->waits_i, &vp->ring_i, w->vp_ns, &longest_ns);
	see_ring_waits(&w->waits_b, &vp->ring_b, w->vp_ns, &longest_ns);
	see_next_waits(vp, &longest_ns);
	note_longest(vp, longest_ns);
}

/* The injection queue is all VPs': their mean time counts. */
void wf_longest_see_injected(void)
{
	struct wf_sched *s = &wf_sched;
	uint32_t first = wf_load_relaxed(&s->inject.nr_popped);
	int64_t vp_ns = 0, longest_ns = 0;

	for (uint32_t i = 0; i < s->nr_vps; i++)
		vp_ns += s->vps[i].watch.vp_ns;
	wf_waits_see(&s->waits_inject, first, first + wf_inject_len(&s->inject),
		     vp_ns / s->nr_vps, &longest_ns);
	note_longest(&s->vps[0], longest_ns);
}

void wf_longest_nothing_waits(void)
{
	wf_sched.waits_inject.nr = 0;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp_watch *w = &wf_sched.vps[i].watch;

		w->waits_i.nr = 0;
		w->waits_b.nr = 0;
		w->next_switches = UINT64_MAX;
	}
}
