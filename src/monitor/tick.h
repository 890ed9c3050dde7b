/* SPDX-License-Identifier: MIT */
/*
 * The monitor's tick: finds out which threads are CPU-bound, and preempts them.
 * Only the monitor calls these functions, wf_tick_all once in each tick
 * interval.
 *
 *     now_ns = wf_os_now();
 *     wf_tick_realtime(now_ns);
 *     wf_tick_all(now_ns);
 */
#ifndef WEFT_MONITOR_TICK_H
#define WEFT_MONITOR_TICK_H

#include "sched/vp.h"

enum {
	WF_MONITOR_TICK_NS = 1000 * 1000,
	/* Time to the next check of a preemption. It is shorter than the time
	 * by which a wake may be late. It is ten times as long as a check where
	 * the monitor first has to get the CPU from the thread that it
	 * checks. */
	WF_TICK_RETRY_NS = WF_MONITOR_TICK_NS / 4,
};

/* Ticks all VPs: charges their threads, preempts, does load balancing. */
void wf_tick_all(int64_t now_ns);

/*
 * Charges vp for a handoff. The monitor took vp from t, which sleeps in the
 * kernel.
 */
void wf_tick_handed_off(struct wf_vp *vp, struct wf_thread *t);

/*
 * Called when timers of vp have made threads runnable: preempts vp's thread if
 * it is CPU-bound.
 */
void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns);

/*
 * A VP notices remote wakeups at its next switch. If its thread runs for longer
 * than this, the monitor preempts the thread, which costs 5 us.
 */
enum { WF_LONG_RUN_NS = 400 * 1000 };

enum wf_remote_wakeups {
	WF_REMOTE_WAKEUPS_NONE,
	WF_REMOTE_WAKEUPS_PENDING, /* check again in WF_LONG_RUN_NS */
	WF_REMOTE_WAKEUPS_KEPT,	   /* check again soon: more are likely to
				    * come */
};

enum wf_remote_wakeups wf_tick_remote_wakeups(int64_t now_ns);

/*
 * Called when a real-time thread waits. Preempts the VP that runs the thread of
 * the lowest priority, if that is lower. Also preempts VPs that go offline.
 */
void wf_tick_realtime(int64_t now_ns);

/*
 * Returns for how long, in ns, the monitor has nothing to do unless a thread
 * wakes it. Above 0 only if all VPs run CPU-bound threads and only CPU-bound
 * threads wait.
 */
int64_t wf_tick_quiet_ns(void);

#endif
