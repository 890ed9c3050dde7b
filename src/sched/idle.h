/*
 * VPs without work, and who wakes them.
 *
 * I1. A VP is in the idle list from wf_idle_begin until somebody takes it out
 *     (and wakes it) or it leaves by wf_idle_end itself.
 * I2. It looks at all queues between wf_idle_begin, which ends with a fence,
 *     and its sleep; a remote submitter pushes, fences, then looks at
 *     nr_idle. So one of the two sees the other.
 * I3. A thread pushed to the owner's own rings needs no sleeper: the owner is
 *     awake. Others are woken for it by wf_idle_share and by the monitor's
 *     tick, which is what parallelism needs and correctness does not.
 */
#ifndef WEFT_SCHED_IDLE_H
#define WEFT_SCHED_IDLE_H

#include "sched/vp.h"

void wf_idle_begin(struct wf_vp *vp);
/* Returns true if the VP was still in the list. */
bool wf_idle_end(struct wf_vp *vp);

/* Wakes vp if it is idle / any one idle VP. Returns true if one was woken. */
bool wf_idle_wake(struct wf_vp *vp);
bool wf_idle_wake_any(void);

void wf_idle_wake_monitor(void);

/*
 * A VP goes to run a thread while it has a timer: the monitor keeps time for
 * it, and must not sleep for longer. Only a plain load in the usual case.
 */
static inline void wf_idle_see_timer(int64_t deadline_ns)
{
	if (WF_UNLIKELY(deadline_ns < wf_load_relaxed(&wf_sched.monitor_until)))
		wf_idle_wake_monitor();
}

/*
 * What a wake through the kernel costs, in ns: from the waker's call until the
 * sleeper runs. A running mean of what sleepers report.
 */
int64_t wf_idle_wake_cost(void);
/* The sleeper, first thing when it has been woken. */
void wf_idle_woken(struct wf_vp *vp);

/* In a fork child. */
void wf_idle_reset(void);

#endif
