/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of waiting threads: one heap per VP, each with a lock. When
 * CLOCK_REALTIME is set, the deadlines on it move, once a thread calls
 * wf_timers_check_clock.
 *
 *     wf_timer_add(t, deadline_ns);       before t parks
 *     ...                                 t is woken, or its timer fires
 *     wf_timer_remove(t);
 */
#ifndef WEFT_WAIT_TIMER_H
#define WEFT_WAIT_TIMER_H

#include "base/heap.h"
#include "sched/vp.h"

/*
 * The timers of one VP. Read only by wait/timer.c, and by readers outside the
 * process.
 */
struct wf_timers {
	struct wf_spin lock;
	struct wf_heap heap; /* all fields but `earliest`: under the lock */
	/* CLOCK_REALTIME minus CLOCK_MONOTONIC in ns (TIMER-4). Under the lock;
	 * a writer also has clock_lock. */
	int64_t wall_offset;
	/* the first deadline in ns; written under the lock, read by any
	 * thread */
	_Atomic int64_t earliest;
} WF_ALIGNED(WF_CACHE_LINE);

/* Makes the heaps of all VPs, or empties them in a fork child. */
int wf_timers_init(void);
/*
 * Makes room in the heaps for the timers of nr_threads. Called before the table
 * of threads grows (TIMER-3). Returns 0 or -ENOMEM.
 */
int wf_timers_make_room(uint32_t nr_threads);
/* Releases the memory of the heaps. No VP runs, and no timer is set. */
void wf_timers_fini(void);

/*
 * Adds a timer for the wait t->wait_generation of t, which is about to park.
 * deadline_ns is as in os/deadline.h. Returns the deadline as a time of
 * CLOCK_MONOTONIC in ns. Owner of t->vp.
 */
int64_t wf_timer_add(struct wf_thread *t, int64_t deadline_ns);
/*
 * Removes the timer of t, which has ended its wait. Does nothing if the timer
 * has fired.
 */
void wf_timer_remove(struct wf_thread *t);

/*
 * Returns the first deadline in ns of CLOCK_MONOTONIC, INT64_MAX if there is
 * none. Any thread.
 */
int64_t wf_timers_earliest(const struct wf_vp *vp);

/*
 * Ends the waits with a deadline at or before now_ns: at most 256 at a time, so
 * that the caller gets to its other work. `me` is as in wf_ready_woken. Returns
 * the number of waits ended.
 */
uint32_t wf_timers_fire(struct wf_vp *vp, int64_t now_ns, struct wf_thread *me);

/*
 * Checks whether CLOCK_REALTIME was set. If it was, moves the deadlines on it,
 * and wakes VPs that sleep for too long. Called by a kernel thread of weft, or
 * with in_runtime set.
 */
void wf_timers_check_clock(void);
/*
 * True if any thread has waited for a time of CLOCK_REALTIME. The first such
 * wait wakes the monitor.
 */
bool wf_timers_want_watch(void);
/*
 * Tells whether there is a caller that calls wf_timers_check_clock each time
 * the clock is set.
 */
void wf_timers_set_watched(bool is);

#endif
