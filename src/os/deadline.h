/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: until when somebody waits, in one number. Not negative, it is a
 * time of CLOCK_MONOTONIC in ns. With the sign bit, it is a time of
 * CLOCK_REALTIME: a wait till then follows when that clock is set.
 *
 *     int64_t deadline = wf_deadline_of_wall(ns);
 *     ...
 *     if (wf_deadline_is_over(deadline))
 *             return -ETIMEDOUT;
 *
 * Two can be compared only with their clocks.
 */
#ifndef WEFT_OS_DEADLINE_H
#define WEFT_OS_DEADLINE_H

#include <stdbool.h>

#include "os/clock.h"

/* wall_ns is less than INT64_MAX; a time before the clock's zero is that. */
static inline int64_t wf_deadline_of_wall(int64_t wall_ns)
{
	return (wall_ns > 0 ? wall_ns : 0) | INT64_MIN;
}

static inline bool wf_deadline_is_wall(int64_t deadline_ns)
{
	return deadline_ns < 0;
}

static inline clockid_t wf_deadline_clock(int64_t deadline_ns)
{
	return wf_deadline_is_wall(deadline_ns) ? CLOCK_REALTIME :
						  CLOCK_MONOTONIC;
}

/* As its clock shows it. */
static inline int64_t wf_deadline_time(int64_t deadline_ns)
{
	return deadline_ns & INT64_MAX;
}

/* How long it is from now until then; negative if it is over. */
static inline int64_t wf_deadline_left(int64_t deadline_ns)
{
	return wf_deadline_time(deadline_ns) -
	       wf_os_clock(wf_deadline_clock(deadline_ns));
}

static inline bool wf_deadline_is_over(int64_t deadline_ns)
{
	return wf_deadline_left(deadline_ns) <= 0;
}

#endif
