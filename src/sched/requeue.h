/* SPDX-License-Identifier: MIT */
/*
 * Requeue on a priority change: a thread becomes real-time, by its policy or by
 * a mutex, while it waits in one of the queues of sched/queue.h. It is moved to
 * the queue where its priority counts (sched/realtime.h).
 */
#ifndef WEFT_SCHED_REQUEUE_H
#define WEFT_SCHED_REQUEUE_H

#include "sched/queue.h"

/*
 * t's rt_priority has just become one, and t is in no list of realtime.c. Who
 * has t in a queue, if anybody, brings it there. in_runtime set, or a kernel
 * thread of weft's own.
 */
void wf_requeue_ask(struct wf_thread *t);

/* Has vp to be made to pick, for there may be one? The monitor. */
static inline bool wf_requeue_is_urgent(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_REQUEUE_SOON) != 0;
}

void wf_requeue_all(struct wf_vp *vp);
/* Where vp's owner checks vp->pending: sorts its queues if it is asked to. */
static inline void wf_requeue_check(struct wf_vp *vp)
{
	if (WF_UNLIKELY((wf_load_relaxed(&vp->pending) & WF_PENDING_REQUEUE) !=
			0))
		wf_requeue_all(vp);
}

#endif
