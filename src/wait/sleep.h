/* Sleeping: a user futex that nobody wakes. */
#ifndef WEFT_WAIT_SLEEP_H
#define WEFT_WAIT_SLEEP_H

#include <stdint.h>
#include <time.h>

/* Parks until the deadline. Returns 0 or -EINTR (a handler ran). */
int wf_sleep_until(int64_t deadline_ns);

/*
 * An absolute time of `clock` as a CLOCK_MONOTONIC deadline, in ns; saturates.
 * Returns -EINVAL for a nanosecond field outside 0..999999999 or a clock other
 * than CLOCK_REALTIME and CLOCK_MONOTONIC. A NULL ts is WF_FOREVER.
 */
int wf_deadline_from_abs(clockid_t clock, const struct timespec *ts,
			 int64_t *ret_deadline_ns);

/* A relative time from now; negative and malformed times are -EINVAL. */
int wf_deadline_from_rel(const struct timespec *ts, int64_t *ret_deadline_ns);

#endif
