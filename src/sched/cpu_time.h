/* SPDX-License-Identifier: MIT */
/*
 * CPU time by thread, for CPU clocks and CPU timers of threads.
 *
 *     int64_t ns = wf_cpu_time_of(t);
 *
 * weft measures nothing until the program asks for the first time. From then on
 * each switch away from a thread costs a system call.
 */
#ifndef WEFT_SCHED_CPU_TIME_H
#define WEFT_SCHED_CPU_TIME_H

#include "os/clock.h"
#include "sched/vp.h"

/*
 * Set once, when measuring begins; cleared in a fork child and when the runtime
 * stops.
 */
extern _Atomic bool wf_cpu_time_is_on;

/* The parts of the functions below that run once measuring has begun. */
void wf_cpu_time_charge_slow(struct wf_carrier *c, const struct wf_thread *t);
void wf_cpu_time_resume_slow(struct wf_carrier *c);
void wf_cpu_time_begin_slow(const struct wf_thread *t);

/*
 * Charges t, which c, the caller's carrier, stops running. NULL: the carrier's
 * own context stops.
 */
static inline void wf_cpu_time_charge(struct wf_carrier *c,
				      const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_charge_slow(c, t);
}

/*
 * c, the caller's carrier, is about to run a thread. weft charges that thread
 * with the little time that c took to find it. The time spent polling was
 * charged before.
 */
static inline void wf_cpu_time_resume(struct wf_carrier *c)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_resume_slow(c);
}

/* Called for a new thread t: sets its CPU time to 0. */
static inline void wf_cpu_time_begin(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_begin_slow(t);
}

/*
 * The CPU time of t, which has not exited, in ns; or -ENOMEM. The time counts
 * from t's start, or from the first call in the process if that came later. For
 * the thread that makes the first call it also counts its kernel thread's
 * earlier time, at most that since the thread was made.
 */
int64_t wf_cpu_time_of(const struct wf_thread *t);

/*
 * Called when the process's first thread becomes one of weft's: begins to
 * measure if the thread has asked for its CPU time before.
 */
void wf_cpu_time_adopt(const struct wf_thread *t);

/*
 * Called when the only thread of a process without the runtime has asked the
 * kernel for its CPU time.
 */
void wf_cpu_time_note(void);

/*
 * Called when t, the caller, is about to run on its kernel thread without the
 * runtime. From then on its CPU time is that of the kernel thread plus
 * wf_cpu_time_extra, so that the clock does not go back.
 */
void wf_cpu_time_stop(const struct wf_thread *t);
int64_t wf_cpu_time_extra(const struct wf_thread *t);
void wf_cpu_time_fork_child(void);

#endif
