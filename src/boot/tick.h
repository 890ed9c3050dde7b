/* SPDX-License-Identifier: MIT */
/*
 * The monitor's tick: which threads are CPU-bound, and when they are preempted.
 */
#ifndef WEFT_BOOT_TICK_H
#define WEFT_BOOT_TICK_H

#include "sched/vp.h"

enum {
	WF_MONITOR_TICK_NS = 1000 * 1000,
	/* Less than a wake may be late; ten times what it costs to ask where
	 * the monitor has to get the CPU from who is asked. */
	WF_TICK_RETRY_NS = WF_MONITOR_TICK_NS / 4,
};

void wf_tick_all(int64_t now_ns);

/* vp was taken from t, which sleeps in the kernel. */
void wf_tick_handed_off(struct wf_vp *vp, struct wf_thread *t);

/* Threads of vp's became runnable because their time has come. */
void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns);

/*
 * A VP notices remote wakeups, of the kernel or of kernel threads without a VP,
 * at its next switch. If its thread runs for longer than this, the thread is
 * preempted: that costs 5 us.
 */
enum { WF_LONG_RUN_NS = 400 * 1000 };

enum wf_remote_wakeups {
	WF_REMOTE_WAKEUPS_NONE,
	WF_REMOTE_WAKEUPS_PENDING, /* check again in WF_LONG_RUN_NS */
	WF_REMOTE_WAKEUPS_KEPT,	   /* soon, for more is likely to come */
};

enum wf_remote_wakeups wf_tick_remote_wakeups(int64_t now_ns);

/* Preempts a VP for a real-time thread that waits, if one has a lower priority.
 * */
void wf_tick_realtime(int64_t now_ns);

/*
 * How long nothing is to do unless somebody wakes the monitor: all VPs run
 * threads that compute, and only such wait. 0 if that is not so.
 */
int64_t wf_tick_quiet_ns(void);

#endif
