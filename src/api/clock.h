/* SPDX-License-Identifier: MIT */
/*
 * System calls on the CPU clocks of threads, for syscall() and api/timer.c.
 *
 *     rc = wf_clock_get(CLOCK_THREAD_CPUTIME_ID, &time);
 */
#ifndef WEFT_API_CLOCK_H
#define WEFT_API_CLOCK_H

#include <sys/resource.h>
#include <time.h>

#include "sched/thread.h"

/* Do what clock_gettime(2) and getrusage(2) do. Return 0 or -Exxx. */
long wf_clock_get(clockid_t clock, struct timespec *ret_time);
long wf_clock_usage(int who, struct rusage *ret_usage);

/*
 * Makes timer_create, timer_settime, timer_gettime, timer_getoverrun,
 * timer_delete, clock_getres or clock_nanosleep, according to nr. Returns the
 * result or -Exxx. Changes errno, since it calls libc's functions.
 */
long wf_timer_syscall(long nr, const long *a);

/*
 * *ret_owner is the thread of weft that `clock` measures, or NULL if it is no
 * CPU clock of one. Returns 0, or -EINVAL if that thread has ended.
 */
int wf_clock_owner(clockid_t clock, struct wf_thread **ret_owner);

#endif
