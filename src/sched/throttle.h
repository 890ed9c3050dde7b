/* SPDX-License-Identifier: MIT */
/*
 * Real-time throttling: threads without a real-time policy get 50 ms of each
 * second of a VP that real-time threads keep busy, as in the kernel. CPU time
 * that they get anyway counts.
 *
 * THROTTLE-1. watch.throttled_ns is the time that others have waited while
 *     real-time threads had the VP, less 19 times that for which others had it,
 *     from 0 to 950 ms. If real-time threads leave a twentieth of the VP to
 *     others it never comes to 950 ms, and nothing changes.
 * THROTTLE-2. Throttling begins at 950 ms while others wait, and ends at 0, or
 *     when the owner finds no thread to run. So while others wait they have at
 *     least a twentieth of the VP in the long run, and none of them waits for
 *     longer than 950 ms.
 * THROTTLE-3. While real-time threads are throttled (WF_PENDING_THROTTLE), the
 *     owner passes over those that wait, and no thread disturbs the VP for one.
 *     A real-time thread that runs is preempted at each tick, and yields by
 *     itself at its switches. So no order of what the owner and the monitor do
 *     at the same time matters for longer than a tick.
 *     Owner and monitor change one bit of the word by atomic OR and AND; both
 *     ends of a race between them are states that THROTTLE-1 and THROTTLE-2
 *     allow:
 *     a. The owner ends the throttling (no thread is left to run) where the
 *        monitor just begins it: either the bit is off with throttled_ns at
 *        950 ms, and the next tick at which a thread waits sets it, or it is on
 *        and none waits, and the owner ends it at its next pick.
 *     b. Both end it: the second AND changes nothing.
 *     c. The owner picks a real-time thread by the bit of just before: that
 *        thread is preempted at the next tick.
 *     Nothing is published by the bit and no thread sleeps on it, so there is
 *     nothing to be lost, and no model in test/model: wakes beside throttling
 *     are those of idle.pml and park.pml, which the bit does not enter.
 * THROTTLE-4. A thread that inherits a priority while real-time threads are
 *     throttled is real-time from then on: it is preempted like others, and
 *     goes on when the throttling is over.
 *
 * Rejected: to stop real-time threads for a part of each second (the kernel
 * before Linux 6.8). A VP would be idle beside threads that can run.
 */
#ifndef WEFT_SCHED_THROTTLE_H
#define WEFT_SCHED_THROTTLE_H

#include "sched/vp.h"

/* Anybody. */
static inline bool wf_throttle_is_on(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_THROTTLE) != 0;
}

/* Owner and monitor. */
void wf_throttle_end(struct wf_vp *vp);

/*
 * The monitor's tick: others have had vp for that long, or have waited beside
 * a real-time thread that had it.
 */
void wf_throttle_others_ran(struct wf_vp *vp, int64_t ns);
void wf_throttle_realtime_ran(struct wf_vp *vp, int64_t ns);

#endif
