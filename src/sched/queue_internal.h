/* SPDX-License-Identifier: MIT */
/*
 * Functions that queue.c (putting) and pick.c (picking) share. Rare cases have
 * functions of their own. The common path calls these last, so that it needs no
 * stack frame.
 */
#ifndef WEFT_SCHED_QUEUE_INTERNAL_H
#define WEFT_SCHED_QUEUE_INTERNAL_H

#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/queue.h"

/*
 * Moves half of the full queue to the injection queue and pushes the entry.
 * Owner only, as all functions here.
 */
WF_COLD void wf_queue_push_to_full(struct wf_vp *vp, struct wf_runq *queue,
				   uint64_t entry);
void wf_queue_push_head(struct wf_vp *vp, struct wf_runq *queue,
			uint64_t entry);

static inline void wf_queue_push_tail(struct wf_vp *vp, struct wf_runq *queue,
				      uint64_t entry)
{
	if (WF_UNLIKELY(!wf_runq_push_tail(queue, entry)))
		wf_queue_push_to_full(vp, queue, entry);
}

static inline void wf_queue_push_interactive(struct wf_vp *vp, uint64_t entry)
{
	wf_queue_push_tail(vp, &vp->interactive, entry);
	if (wf_runq_len(&vp->interactive) >= 2 &&
	    wf_load_relaxed(&wf_sched.stealable) == 0)
		wf_store_relaxed(&wf_sched.stealable, WF_STEALABLE_SOME);
}

/* True if t, just woken, goes to the next slot and the slot is free. */
static inline bool wf_queue_is_plain_wake(const struct wf_vp *vp,
					  const struct wf_thread *t)
{
	return WF_LIKELY(t->rt_priority == 0 && !wf_thread_was_cpu_bound(t) &&
			 !wf_load_relaxed(&vp->runs_long)) &&
	       wf_load_relaxed(&vp->next_slot) == WF_ENTRY_NONE;
}

/*
 * Called after a thread was queued: by vp's owner, or with vp NULL by a caller
 * that has queued it elsewhere. The monitor may sleep while no thread waits, so
 * this function wakes it. It needs no fence: the monitor's membarrier orders
 * our push before our load. The owner of an idle VP does not wake the monitor
 * here. It takes the thread at once, and checks for a sleeping monitor when it
 * runs the thread (get_busy in wait/agent.c).
 */
static inline void wf_queue_check_monitor(const struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_monitor_sleeps()) &&
	    (vp == NULL || wf_load_relaxed(&vp->cur) != NULL))
		wf_idle_wake_monitor();
}

#endif
