/* SPDX-License-Identifier: MIT */
/*
 * Sleeps with the semantics of POSIX: validity, clocks, remaining time.
 *
 *     rc = wf_nanosleep(&request, &remaining);        0, -EINVAL, -EINTR
 *
 * Both park, also for a sleep of 0, which lasts for the timer slack as in the
 * kernel. A sleep ends early when a handler of the program's has run, whatever
 * its flags are.
 */
#ifndef WEFT_SYNC_NANOSLEEP_H
#define WEFT_SYNC_NANOSLEEP_H

#include <time.h>

/* For a time from now; ret_left may be NULL and is set with -EINTR only. */
int wf_nanosleep(const struct timespec *request, struct timespec *ret_left);

/*
 * Until `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC) shows ts. If it does so
 * already, a runnable thread that waits a lot runs first.
 */
int wf_nanosleep_until(clockid_t clock, const struct timespec *ts);

#endif
