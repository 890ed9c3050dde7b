/* SPDX-License-Identifier: MIT */
/*
 * Cheap checks of an absolute time, before a clock is read.
 *
 *     if (!wf_deadline_is_valid(clock, ts))
 *             return -EINVAL;
 */
#ifndef WEFT_SYNC_DEADLINE_H
#define WEFT_SYNC_DEADLINE_H

#include <stdbool.h>
#include <time.h>

/* True for the clocks on which locks and conditions can wait. */
static inline bool wf_deadline_has_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline bool wf_deadline_is_valid(clockid_t clock,
					const struct timespec *ts)
{
	return wf_deadline_has_clock(clock) &&
	       (unsigned long)ts->tv_nsec < 1000000000UL;
}

#endif
