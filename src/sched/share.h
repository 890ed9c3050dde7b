/*
 * The share of a VP that threads without a real-time policy have beside such
 * that always run: the kernel's, 50 ms of each second. What they get by
 * themselves counts.
 *
 * SHARE-1. watch.hunger_ns is the time that others have waited while real-time
 *     threads had the VP, less 19 times that for which others had it, from 0
 *     to 950 ms. Where real-time threads leave a twentieth of the VP by
 *     themselves it never comes to 950, and nothing changes.
 * SHARE-2. A share begins at 950 ms while others wait, and ends at 0, or when
 *     the owner finds nobody to run in it. So as long as anybody waits, others
 *     have at least a twentieth of the VP in the long run, and none of them
 *     waits for its share for longer than 950 ms.
 * SHARE-3. While it lasts (WF_LOOK_SHARE), the owner passes over the real-time
 *     threads that wait, and nobody disturbs it for one. The one that runs is
 *     asked to give way at each tick, and does so by itself where it would let
 *     another run. So no order of what the owner and the monitor do at the same
 *     time matters for longer than a tick.
 *     Of the word they share one bit by atomic OR and AND; both ends of a race
 *     between them are states that SHARE-1 and SHARE-2 allow:
 *     a. The owner ends the share (nobody is left to have it) where the monitor
 *        just begins it: either the bit is off with hunger_ns at 950 ms, and
 *        the next tick at which somebody waits sets it, or it is on and nobody
 *        waits, and the owner ends it at its next pick.
 *     b. Both end it: the second AND changes nothing.
 *     c. The owner picks a real-time thread by the bit of just before: that
 *        thread is asked to give way at the next tick.
 *     Nothing is published by the bit and nobody sleeps on it, so there is
 *     nothing to be lost, and no model in test/model: wakes beside shares are
 *     those of idle.pml and park.pml, which the bit does not enter.
 * SHARE-4. Who is lent a priority in its share is real-time from then on: it
 *     gives way like others, and goes on when the share is over.
 *
 * Rejected: to stop real-time threads for a part of each second (the kernel
 * before Linux 6.8). A VP would be idle beside threads that can run.
 */
#ifndef WEFT_SCHED_SHARE_H
#define WEFT_SCHED_SHARE_H

#include "sched/vp.h"

/* Anybody. */
static inline bool wf_share_is_on(const struct wf_vp *vp)
{
	return (wf_load_relaxed(&vp->look) & WF_LOOK_SHARE) != 0;
}

/* Owner and monitor. */
void wf_share_end(struct wf_vp *vp);

/*
 * The monitor's tick: others have had vp for that long, or have waited beside
 * a real-time thread that has it.
 */
void wf_share_used(struct wf_vp *vp, int64_t ns);
void wf_share_missed(struct wf_vp *vp, int64_t ns);

#endif
