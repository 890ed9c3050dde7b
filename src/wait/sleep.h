/* SPDX-License-Identifier: MIT */
/* Sleeping: a user futex that nobody wakes. */
#ifndef WEFT_WAIT_SLEEP_H
#define WEFT_WAIT_SLEEP_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "sched/runtime.h"

/*
 * What a wait with a deadline has to say that ended with err: as in the
 * kernel, any handler since nr_handlers ends it, with SA_RESTART or not.
 */
static inline int wf_sleep_result(int err, uint32_t nr_handlers)
{
	return err == -ERESTART && wf_self->nr_handlers != nr_handlers ?
		       -EINTR :
		       err;
}

/* Parks until the deadline. Returns 0 or -EINTR (a handler ran). */
int wf_sleep_until(int64_t deadline_ns);

/*
 * An absolute time of `clock` as a deadline (os/deadline.h); saturates.
 * Returns -EINVAL for a nanosecond field outside 0..999999999 or a clock other
 * than CLOCK_REALTIME and CLOCK_MONOTONIC. A NULL ts is WF_FOREVER.
 */
int wf_deadline_from_abs(clockid_t clock, const struct timespec *ts,
			 int64_t *ret_deadline_ns);

/* A relative time from now; negative and malformed times are -EINVAL. */
int wf_deadline_from_rel(const struct timespec *ts, int64_t *ret_deadline_ns);

#endif
