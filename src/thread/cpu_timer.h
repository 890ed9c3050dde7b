/* SPDX-License-Identifier: MIT */
/*
 * POSIX timers on the CPU clocks of threads. A thread with such a timer is
 * bound from then on, and the timer is on the clock of its kernel thread:
 *
 *     err = wf_cpu_timer_clock(t, &clock);
 *     if (err == 0 && timer_create(clock, &event, &timer) == 0)
 *             err = wf_cpu_timer_add(timer, t);
 *
 * Call all functions with in_runtime 0 unless they say otherwise.
 */
#ifndef WEFT_THREAD_CPU_TIMER_H
#define WEFT_THREAD_CPU_TIMER_H

#include <time.h>

#include "sched/thread.h"

/*
 * Binds t. Stores the kernel's clock that counts t's CPU time from now on.
 * Returns 0 or -EAGAIN.
 */
int wf_cpu_timer_clock(struct wf_thread *t, clockid_t *ret_clock);

/*
 * Notes that `timer` is on t's clock. Returns 0, or -EAGAIN if weft knows 1024
 * timers already.
 */
int wf_cpu_timer_add(timer_t timer, const struct wf_thread *t);
/* Forgets `timer`. Call it before the timer is deleted. */
void wf_cpu_timer_remove(timer_t timer);

/*
 * note: called before the start, when the process's first thread makes a timer
 * on its own clock. adopt: called when the runtime starts; binds t, the first
 * thread, if it has made such a timer.
 */
void wf_cpu_timer_note(void);
void wf_cpu_timer_adopt(struct wf_thread *t);

/*
 * True if the timer is on the clock of a thread of weft. Stores that thread, or
 * NULL if it has ended.
 */
bool wf_cpu_timer_owner(timer_t timer, const struct wf_thread **ret_thread);

static inline bool wf_cpu_timer_is_valid(const struct timespec *at)
{
	return at->tv_sec >= 0 && at->tv_nsec >= 0 && at->tv_nsec < 1000000000L;
}

/*
 * Translates a time on t's clock, as clock_gettime reads it, to the clock of
 * t's kernel thread.
 */
struct timespec wf_cpu_timer_translate(const struct wf_thread *t,
				       struct timespec at);

/*
 * after: returns the time on the clock at which `more` CPU time will have been
 * used. until: returns how much CPU time is left until `at`, or 0.
 */
struct timespec wf_cpu_timer_after(clockid_t clock, struct timespec more);
struct timespec wf_cpu_timer_until(clockid_t clock, struct timespec at);

/* Called when t, the caller, ends, in the runtime. If a timer is left on t's
 * clock, t's kernel thread exits with it. */
void wf_cpu_timer_thread_end(const struct wf_thread *t);

/*
 * True if a timer is on the clock of the thread with this id. In the runtime.
 */
bool wf_cpu_timer_is_any(int32_t tid);
/* A fork child inherits no timers. */
void wf_cpu_timer_fork_child(void);

#endif
