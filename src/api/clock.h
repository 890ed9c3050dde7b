/* SPDX-License-Identifier: MIT */
/* What syscall() does for calls that read the clocks of threads. */
#ifndef WEFT_API_CLOCK_H
#define WEFT_API_CLOCK_H

#include <sys/resource.h>
#include <time.h>

#include "sched/thread.h"

/* As the system calls; return 0 or -Exxx. */
long wf_clock_get(clockid_t clock, struct timespec *ret_time);
long wf_clock_usage(int who, struct rusage *ret_usage);

/*
 * timer_create and its relatives, clock_getres and clock_nanosleep, by
 * syscall(). Changes errno, as libc's functions do that it calls.
 */
long wf_timer_syscall(long nr, const long *a);

/*
 * The thread of weft's whose CPU clock it is, NULL if it is nobody's. 0, or
 * -EINVAL: that has ended.
 */
int wf_clock_owner(clockid_t clock, struct wf_thread **ret_owner);

#endif
