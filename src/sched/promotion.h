/*
 * A thread becomes real-time, by its policy or by what a mutex lends it, while
 * it waits for its turn in one of the queues of sched/queue.h. There it would
 * wait on; it is to wait where its priority counts (sched/realtime.h).
 */
#ifndef WEFT_SCHED_PROMOTION_H
#define WEFT_SCHED_PROMOTION_H

#include "sched/queue.h"

/*
 * t's rt_priority has just become one, and t is in no list of realtime.c. Who
 * has t in a queue, if anybody, brings it there. in_runtime set, or a kernel
 * thread of weft's own.
 */
void wf_promotion_seek(struct wf_thread *t);

/* Has vp to be made to pick, for there may be one? The monitor. */
static inline bool wf_promotion_is_urgent(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->look) & WF_LOOK_SOUGHT) != 0;
}

void wf_promotion_sort(struct wf_vp *vp);
/* Where vp's owner sees what it is asked: looks for such threads, if so. */
static inline void wf_promotion_see(struct wf_vp *vp)
{
	if (WF_UNLIKELY((wf_load_relaxed(&vp->look) & WF_LOOK_SORT) != 0))
		wf_promotion_sort(vp);
}

#endif
