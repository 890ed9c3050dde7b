/* SPDX-License-Identifier: MIT */
/*
 * CPU time by thread. Nothing is measured until the program asks for the first
 * time: each switch away from a thread costs a system call from then on.
 */
#ifndef WEFT_SCHED_CPU_TIME_H
#define WEFT_SCHED_CPU_TIME_H

#include "os/clock.h"
#include "sched/vp.h"

/* Set once; cleared in a child of fork. */
extern _Atomic bool wf_cpu_time_is_on;

/* Slow halves of those below. */
void wf_cpu_time_charge_slow(struct wf_carrier *c, const struct wf_thread *t);
void wf_cpu_time_resume_slow(struct wf_carrier *c);
void wf_cpu_time_begin_slow(const struct wf_thread *t);

/* c, the caller's, stops running t, or its own context if t is NULL. */
static inline void wf_cpu_time_charge(struct wf_carrier *c,
				      const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_charge_slow(c, t);
}

/*
 * c, the caller's, is about to run a thread. The thread is charged with the
 * little time that c took to find it; time spent polling was charged before.
 */
static inline void wf_cpu_time_resume(struct wf_carrier *c)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_resume_slow(c);
}

/* The time for handoff_ms of a thread that is made now. Takes 5 ns. */
static inline uint32_t wf_thread_now_ms(void)
{
	return (uint32_t)(wf_os_clock(CLOCK_MONOTONIC_COARSE) / WF_NS_PER_MS);
}

/* t has used nothing yet. */
static inline void wf_cpu_time_begin(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_cpu_time_is_on)))
		wf_cpu_time_begin_slow(t);
}

/*
 * Nanoseconds that t, which lives, has used: since it began, or since somebody
 * first asked if that was later; the caller's own include what its kernel
 * thread had used by then, up to the time since the caller was made. -ENOMEM.
 */
int64_t wf_cpu_time_of(const struct wf_thread *t);

/* The process's first thread becomes one of weft's; it may have asked. */
void wf_cpu_time_adopt(const struct wf_thread *t);

/* A native thread, the only one so far, has asked the kernel. */
void wf_cpu_time_note(void);

/*
 * t, the caller, goes on on its kernel thread without the runtime: its clock is
 * the kernel's then, and wf_cpu_time_extra more, so that it does not go back.
 */
void wf_cpu_time_stop(const struct wf_thread *t);
int64_t wf_cpu_time_extra(const struct wf_thread *t);
void wf_cpu_time_fork_child(void);

#endif
