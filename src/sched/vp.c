/* SPDX-License-Identifier: MIT */
/*
 * Allocates the VPs, and the first memory of their queues with them, in one
 * mapping that is made once. A fork child uses it again: it empties the VPs in
 * place.
 */
#include "sched/vp.h"

#include <errno.h>
#include <string.h>

#include "os/mem.h"
#include "sched/vp_io.h"

struct wf_sched wf_sched;
const struct wf_vp_io_ops *wf_vp_io_ops;

/* A VP that is made meanwhile copies the bit from wf_sched. */
void wf_vps_add_switch_extra(enum wf_switch_extra extra)
{
	atomic_fetch_or(&wf_sched.switch_extras, extra);
	for (uint32_t i = 0; wf_sched.vps != NULL && i < wf_sched.nr_vps; i++)
		atomic_fetch_or(&wf_sched.vps[i].switch_extras, extra);
}

int wf_vps_init(uint32_t nr)
{
	struct wf_sched *s = &wf_sched;
	size_t bytes = wf_align_up(nr * sizeof(struct wf_vp), WF_PAGE);
	size_t queue_bytes = WF_INJECT_FIRST * sizeof(uint64_t);
	uint64_t *queues;

	if (s->vps == NULL) {
		s->vps = wf_os_reserve(bytes + (nr + 1) * queue_bytes);
		if (s->vps == NULL)
			return -ENOMEM;
		s->nr_vps = nr;
		s->queues = (uint64_t *)((char *)s->vps + bytes);
	}
	queues = s->queues;
	for (uint32_t i = 0; i < s->nr_vps; i++) {
		struct wf_vp *vp = &s->vps[i];
		struct wf_timers *timers = vp->timers;

		memset(vp, 0, sizeof(*vp));
		vp->id = i;
		vp->timers = timers;
		wf_store_relaxed(&vp->switch_extras,
				 wf_load_relaxed(&s->switch_extras));
		wf_vp_set_starvation_bound(vp, 0);
		wf_runq_init(&vp->interactive);
		wf_runq_init(&vp->batch);
		wf_inject_reset(&vp->remote, queues);
		queues += WF_INJECT_FIRST;
	}
	wf_inject_reset(&s->inject, queues);
	s->latency_inject = (struct wf_latency){ 0 };
	wf_store_relaxed(&s->monitor_ms, 0);
	wf_store_relaxed(&s->stealable, 0);
	wf_store_relaxed(&s->has_realtime, false);
	return 0;
}
