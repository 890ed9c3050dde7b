/* SPDX-License-Identifier: MIT */
/*
 * Deadlines: the end of a wait, and its clock, in one number. A deadline that
 * is not negative is a time of CLOCK_MONOTONIC in ns. One with the sign bit set
 * is a time of CLOCK_REALTIME, and the wait follows when that clock is set.
 *
 *     int64_t deadline = wf_deadline_of_wall(ns);
 *     ...
 *     if (wf_deadline_is_over(deadline))
 *             return -ETIMEDOUT;
 *
 * Two deadlines can be compared only if they have the same clock.
 */
#ifndef WEFT_OS_DEADLINE_H
#define WEFT_OS_DEADLINE_H

#include <stdbool.h>

#include "os/clock.h"

/*
 * Returns the deadline for a time of CLOCK_REALTIME in ns, which is less than
 * INT64_MAX. A time before the clock's zero becomes zero.
 */
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

/* Returns the time of the deadline in ns, on the deadline's own clock. */
static inline int64_t wf_deadline_time(int64_t deadline_ns)
{
	return deadline_ns & INT64_MAX;
}

/* The time in ns from now to the deadline; negative if it has passed. */
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
