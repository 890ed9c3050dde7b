/*
 * The monitor's tick: who has computed for long, who goes next.
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

/* vp was taken from t, which the kernel has put to sleep. */
void wf_tick_rescued(struct wf_vp *vp, struct wf_thread *t);

/* Threads of vp's became runnable because their time has come. */
void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns);

/*
 * What the kernel or another kernel thread has made runnable is seen by a VP
 * at its next switch: whose thread computes gives way.
 */
/* To end a run costs 5 us. */
enum { WF_LONG_RUN_NS = 400 * 1000 };

enum wf_arrivals {
	WF_ARRIVALS_NONE,
	WF_ARRIVALS_SEEN, /* look again in WF_LONG_RUN_NS */
	WF_ARRIVALS_KEPT, /* soon, for more is likely to come */
};

enum wf_arrivals wf_tick_arrivals(int64_t now_ns);

/* A VP gives way to a real-time thread that waits, if one can. */
void wf_tick_realtime(int64_t now_ns);

/*
 * How long nothing is to do unless somebody wakes the monitor: all VPs run
 * threads that compute, and only such wait. 0 if that is not so.
 */
int64_t wf_tick_quiet_ns(void);

#endif
