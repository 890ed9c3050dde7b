/* SPDX-License-Identifier: MIT */
/*
 * VPs without work, and who wakes them. One of them, or as many as --agents
 * says, may be pollers: they poll the queues all the time, so nobody has to
 * wake them, which costs the waker 12 us and the sleeper 25. The others sleep
 * in the kernel.
 *
 *     AWAKE -> POLLER   [wf_idle_poll_begin]
 *     POLLER -> AWAKE   [wf_idle_poll_end: finds work, or will sleep]
 *     AWAKE -> IDLE     [wf_idle_begin]
 *     IDLE -> AWAKE     [wf_idle_end, or whoever wakes it]
 *
 * IDLE-1. A VP is in the idle list from wf_idle_begin until somebody takes it
 *     out (and wakes it) or it leaves by wf_idle_end itself. An offline VP is
 *     not in the list (OFFLINE-2): only wf_idle_wake wakes it.
 * IDLE-2. It looks at all queues between wf_idle_begin, which ends with a
 *     fence, and its sleep; a remote submitter pushes, fences, then looks at
 *     nr_idle. So one of the two sees the other.
 * IDLE-3. A thread pushed to the owner's own run queues needs no sleeper: the
 *     owner is awake. push_stealable in queue.c wakes other VPs for it,
 *     and by the monitor's tick, which is what parallelism needs and
 *     correctness does not.
 * IDLE-4. A submitter that sees a poller wakes nobody. The poller that gives up
 *     the role clears it, fences, then polls the shared queues, and sees
 *     what a submitter, who pushes, fences, then looks for the poller, has
 *     left to it: it sleeps only if there is nothing (IDLE-2), and goes to run
 *     a thread, whether it had to give up the role for that or had given it up
 *     to sleep, only after it has woken another VP for the rest.
 * IDLE-5. A poller is in no idle list: a role is given up before wf_idle_begin.
 */
#ifndef WEFT_SCHED_IDLE_H
#define WEFT_SCHED_IDLE_H

#include "sched/vp.h"

/* True if vp polls from now on; false if it is offline, or enough others do. */
bool wf_idle_poll_begin(struct wf_vp *vp);
/* The poller gives up the role, to sleep next. */
void wf_idle_poll_end(struct wf_vp *vp);
/*
 * vp, the poller of late, is about to run a thread: hands over if there is
 * more. Also if it gave up the role before and then saw something to do.
 */
void wf_idle_poll_leave(struct wf_vp *vp);

void wf_idle_begin(struct wf_vp *vp);
/* Returns true if the VP was still in the list. */
bool wf_idle_end(struct wf_vp *vp);

/* Wakes vp if it sleeps. True if so. */
bool wf_idle_wake(struct wf_vp *vp);
/* Wakes any one VP that sleeps, poller or not. True if there was one. */
bool wf_idle_wake_sleeper(void);
/*
 * There is work for any idle VP: wakes one unless one polls (IDLE-4).
 */
void wf_idle_wake_any(void);
/* Is any VP idle, asleep or polling? */
static inline bool wf_idle_is_any(void)
{
	return wf_load_relaxed(&wf_sched.nr_idle) != 0 ||
	       wf_load_relaxed(&wf_sched.nr_pollers) != 0;
}

/* The monitor: under --wait poll as many idle VPs poll as may. */
void wf_idle_check_poller(void);

void wf_idle_wake_monitor(void);
/* It is awake from here on; false: it was, and need not be woken. */
bool wf_idle_rouse_monitor(void);

/*
 * A VP goes to run a thread while it has a timer: the monitor keeps time for
 * it, and must not sleep for longer. Only a plain load in the usual case.
 */
static inline void wf_idle_check_timer(int64_t deadline_ns)
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
