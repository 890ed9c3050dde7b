/* SPDX-License-Identifier: MIT */
/*
 * sched_yield: switches to the next thread of the VP's queues. Only if the
 * queues have none does it make the system call.
 */
#include "sched/yield.h"

#include "os/sys.h"
#include "sched/queue.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "sched/vp_io.h"

int wf_sched_yield(void)
{
	struct wf_thread *t = wf_runtime_enter(), *again = NULL;

	if (WF_LIKELY(t->kind == WF_THREAD_MULTIPLEXED))
		again = wf_switch_yield(t, WF_RESCHED_NONE);
	if (WF_LIKELY(again != NULL)) {
		wf_runtime_leave(again);
		return 0;
	}
	wf_runtime_leave(t);
	/* The program may wait in a loop for a thread on another carrier, which
	 * may need this CPU. */
	wf_sys(SYS_sched_yield);
	return 0;
}

bool wf_sched_let_others(void)
{
	struct wf_thread *t = wf_runtime_enter();
	struct wf_thread *next = NULL;

	if (t->kind == WF_THREAD_MULTIPLEXED && t->vp != NULL &&
	    t->rt_priority == 0) {
		wf_vp_io_poll(t->vp);
		next = wf_queue_pick_waiting(t->vp);
	}
	if (next != NULL) {
		/* t is about to block in the kernel: its CPU-bound flag moves
		 * into the history */
		wf_thread_end_stay(t);
		wf_switch_to(t, next, wf_switch_requeue(WF_RESCHED_TICK), t);
	}
	wf_runtime_leave(t);
	return next != NULL;
}
