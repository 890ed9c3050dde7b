/* SPDX-License-Identifier: MIT */
/*
 * Requeue on a priority change. A thread may become real-time, by its policy or
 * by a mutex, while it waits in one of the queues of sched/queue.h. This module
 * moves it to the queue where its priority counts (sched/realtime.h).
 *
 *     wf_requeue_ask(t);             the thread that has changed t's priority
 *     wf_requeue_check(vp);          the owner of each VP, before it picks
 */
#ifndef WEFT_SCHED_REQUEUE_H
#define WEFT_SCHED_REQUEUE_H

#include "sched/queue.h"

/*
 * Called when t's rt_priority has just changed from 0, and t is not in the
 * real-time queue yet. If a VP has t in another queue, the VP's owner moves t.
 * Needs in_runtime set, or a kernel thread of weft's own.
 */
void wf_requeue_ask(struct wf_thread *t);

/*
 * For the monitor: true if vp has to pick soon, since one of its queues may
 * have a thread that has become real-time.
 */
static inline bool wf_requeue_is_urgent(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_REQUEUE_SOON) != 0;
}

void wf_requeue_all(struct wf_vp *vp);
/*
 * Called by vp's owner at its picks: sorts the queues if a thread has asked for
 * it.
 */
static inline void wf_requeue_check(struct wf_vp *vp)
{
	if (WF_UNLIKELY((wf_load_relaxed(&vp->pending) & WF_PENDING_REQUEUE) !=
			0))
		wf_requeue_all(vp);
}

#endif
