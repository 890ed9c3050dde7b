/* SPDX-License-Identifier: MIT */
/*
 * Sleeps of POSIX, and those that have no time left when they begin.
 *
 * Programs back off by a sleep of 0 while they wait for another thread. In the
 * kernel such a sleep lasts for the thread's timer slack, 50 us unless prctl
 * changes it, and other threads get the CPU. Here it parks the thread until
 * just after now. If the VP then has no other thread to run, its carrier
 * sleeps, and the kernel adds the same slack.
 *
 * The kernel returns at once for an absolute time in the past. Here the VP
 * first runs an interactive thread, if one is runnable.
 *
 * Rejected: to return at once, or to yield, for both. The thread would run for
 * whole slices beside the thread that it waits for. Alone on its VP it would
 * take the whole CPU.
 */
#include "sync/nanosleep.h"

#include <errno.h>

#include "os/deadline.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "sync/deadline.h"
#include "wait/sleep.h"

enum {
	/*
	 * The length of a sleep of 0. It is long enough that the VP checks its
	 * queues and sleeps first, and short beside the kernel's slack.
	 */
	SHORTEST_NS = 4 * 1000,
};

/* False for a real-time thread, which has no slack in the kernel. */
static bool has_slack(void)
{
	return wf_thread_self()->rt_priority == 0;
}

int wf_nanosleep(const struct timespec *request, struct timespec *ret_left)
{
	int64_t deadline_ns, left_ns;
	int rc = wf_deadline_from_rel(request, &deadline_ns);

	if (rc != 0)
		return rc;
	if (request->tv_sec == 0 && request->tv_nsec == 0) {
		if (!has_slack())
			return 0;
		deadline_ns += SHORTEST_NS;
	}
	rc = wf_sleep_until(deadline_ns);
	if (rc != -EINTR || ret_left == NULL)
		return rc;
	left_ns = deadline_ns - wf_os_now();
	*ret_left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	return rc;
}

int wf_nanosleep_until(clockid_t clock, const struct timespec *ts)
{
	int64_t deadline_ns;
	int rc;

	if (!wf_deadline_is_valid(clock, ts) || ts->tv_sec < 0)
		return -EINVAL;
	rc = wf_deadline_from_abs(clock, ts, &deadline_ns);
	if (rc != 0)
		return rc;
	if (wf_deadline_is_over(deadline_ns)) {
		wf_sched_let_others();
		return 0;
	}
	return wf_sleep_until(deadline_ns);
}
