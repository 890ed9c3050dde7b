/* SPDX-License-Identifier: MIT */
/*
 * CPU clocks of threads. The kernel's clock for a kernel thread runs for all
 * threads of a carrier, so weft measures the time of each thread itself
 * (sched/cpu_time.h).
 *
 * A clock id of the kernel has 28 bits for the thread id, and weft's ids have
 * more. So weft's clock ids end in three bits, all set, that have no meaning in
 * the kernel. Above them are the thread's index and a part of its generation. A
 * clock of an earlier thread has another generation.
 */
#include "api/clock.h"

#include <errno.h>
#include <pthread.h>

#include "api/api.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/cpu_time.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/memory.h"
#include "thread/lifecycle.h"

enum {
	KIND_BITS = 3,
	OURS = 7,
	INDEX_MASK = (1 << WF_TID_INDEX_BITS) - 1,
	GENERATION_MASK = (1 << (31 - KIND_BITS - WF_TID_INDEX_BITS)) - 1,
};

static clockid_t clock_of(const struct wf_thread *t)
{
	uint32_t part = t->generation & GENERATION_MASK;

	return (clockid_t)(~(part << WF_TID_INDEX_BITS | t->index)
				   << KIND_BITS |
			   OURS);
}

/* Returns NULL if the thread has ended. */
static struct wf_thread *thread_of(clockid_t clock)
{
	uint32_t payload = ~((uint32_t)clock >> KIND_BITS);
	struct wf_thread *t = wf_table_at(payload & INDEX_MASK);

	if ((payload & INDEX_MASK) >= wf_table_high() || !wf_thread_exists(t) ||
	    clock_of(t) != clock)
		return NULL;
	return t;
}

static bool is_ours(clockid_t clock)
{
	return clock < 0 && (clock & OURS) == OURS;
}

/* Would the kernel's clock be that of a carrier, shared by threads? */
static bool is_on_carrier(void)
{
	return wf_self != NULL && wf_self->carrier != NULL;
}

int wf_clock_owner(clockid_t clock, struct wf_thread **ret_owner)
{
	struct wf_thread *t = NULL;

	if (clock == CLOCK_THREAD_CPUTIME_ID && is_on_carrier())
		t = wf_self;
	if (is_ours(clock)) {
		t = thread_of(clock);
		if (t == NULL)
			return -EINVAL;
	}
	*ret_owner = t;
	return 0;
}

long wf_clock_get(clockid_t clock, struct timespec *ret_time)
{
	const struct wf_thread *t = is_ours(clock) ? thread_of(clock) : wf_self;
	struct timespec ts;
	int64_t ns;

	if (!is_ours(clock) &&
	    (clock != CLOCK_THREAD_CPUTIME_ID ||
	     (!is_on_carrier() && wf_cpu_time_extra(t) == 0))) {
		if (clock == CLOCK_THREAD_CPUTIME_ID)
			wf_cpu_time_note();
		return wf_sys(SYS_clock_gettime, clock, ret_time);
	}
	if (t == NULL)
		return -EINVAL;
	ns = wf_cpu_time_of(t);
	if (ns < 0)
		return ns;
	ts = wf_os_timespec(ns);
	return wf_memory_put(ret_time, &ts, sizeof(ts));
}

static int64_t us_of(struct timeval tv)
{
	return tv.tv_sec * 1000000LL + tv.tv_usec;
}

static struct timeval timeval_of(int64_t us)
{
	return (struct timeval){ us / 1000000, us % 1000000 };
}

/*
 * Divides `us` microseconds into user and system time, in the carrier's ratio.
 */
static void split(int64_t us, struct rusage *usage)
{
	int64_t system = us_of(usage->ru_stime);
	int64_t all = us_of(usage->ru_utime) + system;

	if (all > 0)
		system = (int64_t)((__int128)us * system / all);
	usage->ru_stime = timeval_of(system);
	usage->ru_utime = timeval_of(us - system);
}

long wf_clock_usage(int who, struct rusage *ret_usage)
{
	long err = wf_sys(SYS_getrusage, who, ret_usage);
	int64_t ns;

	if (err < 0 || who != RUSAGE_THREAD)
		return err;
	if (!is_on_carrier() && wf_cpu_time_extra(wf_self) == 0) {
		wf_cpu_time_note();
		return 0;
	}
	ns = wf_cpu_time_of(wf_self);
	if (ns < 0)
		return ns;
	split(ns / WF_NS_PER_US, ret_usage);
	return 0;
}

WF_API(int, clock_gettime, clockid_t clock, struct timespec *ret_time)
{
	if (WF_LIKELY(clock >= 0 && clock != CLOCK_THREAD_CPUTIME_ID))
		return wf_os_clock_gettime(clock, ret_time);
	return wf_api_errno((int)wf_clock_get(clock, ret_time));
}

WF_API(int, clock_getres, clockid_t clock, struct timespec *ret_time)
{
	const struct timespec one = { 0, 1 };

	/* libc asks the vDSO, which also has clocks that the kernel lacks. */
	if (!is_ours(clock))
		return wf_real.clock_getres(clock, ret_time);
	if (thread_of(clock) == NULL)
		return wf_api_errno(-EINVAL);
	if (ret_time == NULL)
		return 0;
	return wf_api_errno(wf_memory_put(ret_time, &one, sizeof(one)));
}

WF_API(int, getrusage, __rusage_who_t who, struct rusage *ret_usage)
{
	return wf_api_errno((int)wf_clock_usage(who, ret_usage));
}

WF_API(int, pthread_getcpuclockid, pthread_t thread, clockid_t *ret_clock)
{
	const struct wf_thread *t = wf_thread_of(thread);

	if (t == NULL || t->kind == WF_THREAD_FOREIGN)
		return wf_real.pthread_getcpuclockid(thread, ret_clock);
	if (!wf_thread_exists(t))
		return ESRCH;
	*ret_clock = clock_of(t);
	return 0;
}
