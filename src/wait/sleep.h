/* SPDX-License-Identifier: MIT */
/*
 * Sleeping: a wait on a user futex that no thread wakes; and conversions of
 * timespecs to deadlines.
 *
 *     err = wf_deadline_from_rel(ts, &deadline_ns);
 *     if (err == 0)
 *             err = wf_sleep_until(deadline_ns);
 */
#ifndef WEFT_WAIT_SLEEP_H
#define WEFT_WAIT_SLEEP_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "sched/runtime.h"

/*
 * Converts the result `err` of a wait with a deadline to that of a sleep. As in
 * the kernel, a handler that ran since nr_handlers was read ends the sleep,
 * also one with SA_RESTART.
 */
static inline int wf_sleep_result(int err, uint32_t nr_handlers)
{
	return err == -ERESTART && wf_self->nr_handlers != nr_handlers ?
		       -EINTR :
		       err;
}

/* Parks until the deadline. Returns 0, or -EINTR if a handler ran. */
int wf_sleep_until(int64_t deadline_ns);

/*
 * Converts an absolute time of `clock` to a deadline (os/deadline.h). A time
 * out of range saturates. Returns -EINVAL for nanoseconds outside 0..999999999
 * or a clock other than CLOCK_REALTIME and CLOCK_MONOTONIC. A NULL ts is
 * WF_FOREVER.
 */
int wf_deadline_from_abs(clockid_t clock, const struct timespec *ts,
			 int64_t *ret_deadline_ns);

/*
 * Converts a relative time to a deadline. Returns -EINVAL for negative and
 * malformed times. A NULL ts is WF_FOREVER.
 */
int wf_deadline_from_rel(const struct timespec *ts, int64_t *ret_deadline_ns);

#endif
