/* SPDX-License-Identifier: MIT */
/*
 * Real-time throttling: threads without a real-time policy get 50 ms of each
 * second of a VP that real-time threads keep busy, as in the kernel. CPU time
 * that they get anyway counts.
 *
 *     wf_throttle_realtime_ran(vp, ns);          the tick
 *     if (wf_throttle_is_on(vp))                 the owner, at a pick
 *             next = wf_queue_pick_other(vp, true);
 *
 * THROTTLE-1. watch.throttled_ns is between 0 and 950 ms. It grows by the time
 *     that other threads wait while real-time threads have the VP. It shrinks
 *     by 19 times the time for which other threads have the VP. If real-time
 *     threads leave a twentieth of the VP to other threads, it never comes to
 *     950 ms and nothing changes.
 * THROTTLE-2. Throttling begins at 950 ms while other threads wait. It ends at
 *     0, or when the owner finds no thread to run. So in the long run waiting
 *     threads have at least a twentieth of the VP, and none of them waits for
 *     longer than 950 ms.
 * THROTTLE-3. While real-time threads are throttled (WF_PENDING_THROTTLE), the
 *     owner passes over those that wait, and no thread disturbs the VP for one.
 *     A running real-time thread is preempted at each tick, and yields by
 *     itself at its switches. So no order of the owner's and the monitor's
 *     steps matters for longer than a tick.
 *     Owner and monitor change one bit of the word by atomic OR and AND. Each
 *     end of a race between them is a state that THROTTLE-1 and THROTTLE-2
 *     allow:
 *     a. The owner ends the throttling, since no thread is left to run, while
 *        the monitor begins it. The bit may be off with throttled_ns at 950 ms:
 *        the next tick at which a thread waits sets it. Or the bit is on and no
 *        thread waits: the owner clears it at its next pick.
 *     b. Both end it: the second AND changes nothing.
 *     c. The owner picks a real-time thread by the bit of a moment ago: that
 *        thread is preempted at the next tick.
 *     The bit publishes nothing and no thread sleeps on it, so nothing can be
 *     lost. It needs no model in test/model: wakes beside throttling are those
 *     of idle.pml and park.pml, in which the bit plays no part.
 * THROTTLE-4. A thread that inherits a priority while real-time threads are
 *     throttled is real-time from then on. It is preempted as they are, and
 *     continues when the throttling is over.
 *
 * Rejected: to stop real-time threads for a part of each second (the kernel
 * before Linux 6.8). A VP would be idle beside threads that can run.
 */
#ifndef WEFT_SCHED_THROTTLE_H
#define WEFT_SCHED_THROTTLE_H

#include "sched/vp.h"

/* True if real-time threads are throttled on vp. Any thread may ask. */
static inline bool wf_throttle_is_on(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->pending) & WF_PENDING_THROTTLE) != 0;
}

/* Ends the throttling on vp. For the owner and the monitor. */
void wf_throttle_end(struct wf_vp *vp);

/*
 * For the monitor's tick. others_ran: threads that are not real-time had vp for
 * ns. realtime_ran: such a thread waited for ns while a real-time thread had
 * vp.
 */
void wf_throttle_others_ran(struct wf_vp *vp, int64_t ns);
void wf_throttle_realtime_ran(struct wf_vp *vp, int64_t ns);

#endif
