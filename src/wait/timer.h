/* SPDX-License-Identifier: MIT */
/*
 * Deadlines of waiting threads: one heap per VP, with a lock of its own. Those
 * on CLOCK_REALTIME follow when that is set, if somebody says so.
 */
#ifndef WEFT_WAIT_TIMER_H
#define WEFT_WAIT_TIMER_H

#include "sched/vp.h"

/* Makes the heaps of all VPs, or empties them in a fork child. */
int wf_timers_init(void);
/* No VP runs, and no timer is set: gives back the memory. */
void wf_timers_fini(void);

/*
 * t, which begins the wait t->wait_generation, wants to be woken at the
 * deadline (os/deadline.h). Returns when that is by CLOCK_MONOTONIC. Owner of
 * t->vp.
 */
int64_t wf_timer_add(struct wf_thread *t, int64_t deadline_ns);
/* t's wait is over. No-op if its deadline has been taken out to fire. */
void wf_timer_remove(struct wf_thread *t);

/* CLOCK_MONOTONIC ns of the first deadline, INT64_MAX if none. Anybody. */
int64_t wf_timers_earliest(const struct wf_vp *vp);

/*
 * Ends the waits whose deadline is at or before now_ns, but not more than a
 * few hundred, so that others get their turn. `me` as in wf_ready_woken.
 * Returns how many ended.
 */
uint32_t wf_timers_fire(struct wf_vp *vp, int64_t now_ns, struct wf_thread *me);

/*
 * CLOCK_REALTIME may have been set: if it was, deadlines on it come when it
 * shows them, and who sleeps for too long is woken. Any kernel thread of
 * weft's, or in_runtime set.
 */
void wf_timers_check_clock(void);
/* Has anybody waited till a time of that clock? The monitor is woken then. */
bool wf_timers_want_watch(void);
/* Does the caller call wf_timers_check_clock whenever it has been set? */
void wf_timers_set_watched(bool is);

#endif
