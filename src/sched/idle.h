/* SPDX-License-Identifier: MIT */
/*
 * Idle VPs: how a VP without work polls or sleeps, and how other threads wake
 * it.
 *
 *     wf_idle_begin(vp);
 *     if (!wf_queue_has_work(vp))
 *             ...     sleeps on vp->wake_word
 *     wf_idle_end(vp);
 *
 * One idle VP, or as many as --agents says, may be pollers. A poller polls the
 * queues all the time, so it needs no wake through the kernel. Such a wake
 * costs the waker 12 us and the sleeper 25 us. The other idle VPs sleep in the
 * kernel.
 *
 *     AWAKE -> POLLER   [wf_idle_poll_begin]
 *     POLLER -> AWAKE   [wf_idle_poll_end: finds work, or will sleep]
 *     AWAKE -> IDLE     [wf_idle_begin]
 *     IDLE -> AWAKE     [wf_idle_end, or the waker]
 *
 * IDLE-1. A VP is in the idle list from wf_idle_begin until a waker takes it
 *     out, or its owner does by wf_idle_end. An offline VP is not in the list
 *     (OFFLINE-2): only wf_idle_wake wakes it.
 * IDLE-2. The owner calls wf_idle_begin, which ends with a fence, then checks
 *     all queues, then sleeps. A remote submitter pushes, fences, then checks
 *     nr_idle. So at least one of the two sees the other.
 * IDLE-3. A thread pushed to the owner's own run queues needs no sleeper: the
 *     owner is awake. push_stealable in queue.c and the monitor's tick wake
 *     other VPs for the thread. Parallelism needs these wakes, correctness does
 *     not.
 * IDLE-4. A submitter that finds a poller wakes no VP. A poller that gives up
 *     the role clears it, fences, then polls the shared queues. A submitter
 *     pushes, fences, then checks for a poller. So the former poller finds the
 *     work that a submitter has left to it. It sleeps only if there is none
 *     (IDLE-2). Before it runs a thread it wakes another VP for the rest, also
 *     if it had given up the role in order to sleep.
 * IDLE-5. A poller is in no idle list: it gives up the role before
 *     wf_idle_begin.
 */
#ifndef WEFT_SCHED_IDLE_H
#define WEFT_SCHED_IDLE_H

#include "sched/vp.h"

/*
 * Makes vp a poller. Returns false if vp is offline, or if there are enough
 * pollers.
 */
bool wf_idle_poll_begin(struct wf_vp *vp);
/* Gives up the role of poller; vp goes to sleep next. */
void wf_idle_poll_end(struct wf_vp *vp);
/*
 * Called when vp, which is or was a poller in this idle time, is about to run a
 * thread. Wakes another VP if there is more work.
 */
void wf_idle_poll_leave(struct wf_vp *vp);

void wf_idle_begin(struct wf_vp *vp);
/*
 * Takes vp out of the list of idle VPs. Returns false if a waker has done so
 * before.
 */
bool wf_idle_end(struct wf_vp *vp);

/* Wakes vp if it sleeps. Returns true if it slept. */
bool wf_idle_wake(struct wf_vp *vp);
/*
 * Wakes any one sleeping VP, even if another VP polls. Returns true if there
 * was one.
 */
bool wf_idle_wake_sleeper(void);
/*
 * Called when there is work for any idle VP. Wakes a VP, unless a poller will
 * find the work (IDLE-4).
 */
void wf_idle_wake_any(void);
/* True if any VP sleeps or polls. */
static inline bool wf_idle_is_any(void)
{
	return wf_load_relaxed(&wf_sched.nr_idle) != 0 ||
	       wf_load_relaxed(&wf_sched.nr_pollers) != 0;
}

/*
 * For the monitor: if --wait is poll, wakes a VP when there are fewer pollers
 * than allowed.
 */
void wf_idle_check_poller(void);

void wf_idle_wake_monitor(void);
/*
 * Marks the monitor as awake. Returns true if the caller has to wake it through
 * the futex monitor_asleep. After false the monitor may still be in a short
 * sleep on monitor_poke.
 */
bool wf_idle_rouse_monitor(void);

/*
 * Called when a VP with a timer starts to run a thread. From then on the
 * monitor keeps time for the VP, so it must not sleep beyond the deadline.
 * Usually costs one plain load.
 */
static inline void wf_idle_check_timer(int64_t deadline_ns)
{
	if (WF_UNLIKELY(deadline_ns < wf_load_relaxed(&wf_sched.monitor_until)))
		wf_idle_wake_monitor();
}

/*
 * The cost of a wake through the kernel, in ns: the time from the waker's call
 * until the sleeper runs. A running mean of the sleepers' samples.
 */
int64_t wf_idle_wake_cost(void);
/* The woken VP calls this first: it adds a sample to the mean. */
void wf_idle_woken(struct wf_vp *vp);

/* Called in a fork child: no VP is idle or a poller then. */
void wf_idle_reset(void);

#endif
