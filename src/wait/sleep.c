/* SPDX-License-Identifier: MIT */
/*
 * A sleeping thread waits on a word that no thread changes or wakes, so only
 * the deadline or a signal ends the wait. All times become deadlines in
 * nanoseconds; times beyond the range of an int64_t saturate.
 */
#include "wait/sleep.h"

#include <errno.h>

#include "os/deadline.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

int wf_sleep_until(int64_t deadline_ns)
{
	const struct wf_thread *t = wf_thread_self();
	uint32_t nr_handlers = t->nr_handlers;
	int err;

	/*
	 * The word that the thread waits on is its own index in the table. The
	 * indices of other sleepers are close to it, and so are their buckets.
	 */
	do {
		err = wf_ufutex_wait(WF_WAIT_SLEEP, &t->index, t->index,
				     WF_UFUTEX_ANY, deadline_ns);
		err = wf_sleep_result(err, nr_handlers);
	} while (err == -ERESTART);
	return err == -ETIMEDOUT ? 0 : err;
}

static int to_ns(const struct timespec *ts, int64_t *ret_ns)
{
	int64_t ns;

	if (ts->tv_nsec < 0 || ts->tv_nsec >= WF_NS_PER_S)
		return -EINVAL;
	if (__builtin_mul_overflow((int64_t)ts->tv_sec, WF_NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)ts->tv_nsec, &ns))
		ns = ts->tv_sec < 0 ? INT64_MIN : WF_FOREVER - 1;
	*ret_ns = ns;
	return 0;
}

int wf_deadline_from_abs(clockid_t clock, const struct timespec *ts,
			 int64_t *ret_deadline_ns)
{
	int64_t ns;
	int err;

	if (ts == NULL) {
		*ret_deadline_ns = WF_FOREVER;
		return 0;
	}
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
		return -EINVAL;
	err = to_ns(ts, &ns);
	if (err < 0)
		return err;
	if (clock == CLOCK_REALTIME)
		*ret_deadline_ns = wf_deadline_of_wall(ns);
	else
		*ret_deadline_ns = ns > 0 ? ns : 0;
	return 0;
}

int wf_deadline_from_rel(const struct timespec *ts, int64_t *ret_deadline_ns)
{
	int64_t ns;
	int err;

	if (ts == NULL) {
		*ret_deadline_ns = WF_FOREVER;
		return 0;
	}
	err = to_ns(ts, &ns);
	if (err < 0)
		return err;
	if (ts->tv_sec < 0)
		return -EINVAL;
	if (__builtin_add_overflow(wf_os_now(), ns, &ns))
		ns = WF_FOREVER - 1;
	*ret_deadline_ns = ns;
	return 0;
}
