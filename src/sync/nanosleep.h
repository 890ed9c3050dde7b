/* SPDX-License-Identifier: MIT */
/*
 * Sleeps with the semantics of POSIX: validity, clocks, remaining time.
 *
 *     rc = wf_nanosleep(&request, &remaining);        0, -EINVAL, -EINTR
 *
 * Both functions park. A sleep of 0 lasts for the timer slack, as in the
 * kernel. A sleep ends early when a handler of the program has run, with any
 * flags.
 */
#ifndef WEFT_SYNC_NANOSLEEP_H
#define WEFT_SYNC_NANOSLEEP_H

#include <time.h>

/*
 * Sleeps for a relative time. ret_left may be NULL; it is set only with -EINTR.
 */
int wf_nanosleep(const struct timespec *request, struct timespec *ret_left);

/*
 * Sleeps until `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC) shows ts. If ts is
 * in the past, a runnable interactive thread runs first.
 */
int wf_nanosleep_until(clockid_t clock, const struct timespec *ts);

#endif
