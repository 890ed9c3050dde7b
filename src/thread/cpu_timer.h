/* SPDX-License-Identifier: MIT */
/*
 * POSIX timers on the CPU clocks of threads. A thread whose clock is timed has
 * a kernel thread of its own from then on, whose clock the timer is on:
 *
 *     err = wf_cpu_timer_clock(t, &clock);
 *     if (err == 0 && timer_create(clock, &event, &timer) == 0)
 *             err = wf_cpu_timer_add(timer, t);
 *
 * All with in_runtime 0 unless they say otherwise.
 */
#ifndef WEFT_THREAD_CPU_TIMER_H
#define WEFT_THREAD_CPU_TIMER_H

#include <time.h>

#include "sched/thread.h"

/* The kernel's clock that from now on counts what t uses. 0 or -EAGAIN. */
int wf_cpu_timer_clock(struct wf_thread *t, clockid_t *ret_clock);

/* 0 or -EAGAIN: there are too many. */
int wf_cpu_timer_add(timer_t timer, const struct wf_thread *t);
/* Before the timer is deleted. */
void wf_cpu_timer_remove(timer_t timer);

/*
 * The process's first thread, still native, makes a timer on its own clock: it
 * keeps its kernel thread when the runtime starts (wf_cpu_timer_adopt).
 */
void wf_cpu_timer_note(void);
void wf_cpu_timer_adopt(struct wf_thread *t);

/* Is the timer on the clock of a thread of weft's? NULL if that has ended. */
bool wf_cpu_timer_owner(timer_t timer, const struct wf_thread **ret_thread);

static inline bool wf_cpu_timer_is_valid(const struct timespec *at)
{
	return at->tv_sec >= 0 && at->tv_nsec >= 0 && at->tv_nsec < 1000000000L;
}

/* A time on t's clock, as clock_gettime has it, on its kernel thread's. */
struct timespec wf_cpu_timer_translate(const struct wf_thread *t,
				       struct timespec at);

/* The time on that clock when so much more has been used, and back. */
struct timespec wf_cpu_timer_after(clockid_t clock, struct timespec more);
struct timespec wf_cpu_timer_until(clockid_t clock, struct timespec at);

/* t, the caller, ends, and its kernel thread with it if a timer is left on it.
 * in_runtime. */
void wf_cpu_timer_thread_end(const struct wf_thread *t);

/* Timers are not inherited. */
/* Is there one on the clock of the thread with this id? in_runtime set. */
bool wf_cpu_timer_is_any(int32_t tid);
void wf_cpu_timer_fork_child(void);

#endif
