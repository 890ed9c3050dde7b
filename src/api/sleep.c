/* SPDX-License-Identifier: MIT */
/*
 * Sleeps, and sched_yield. Sleeps on the usual clocks park the thread. On a CPU
 * clock the thread sleeps in the kernel and blocks its carrier. Before the
 * runtime starts each sleep is libc's.
 */
#include "api/api.h"
#include "api/cancel.h"

#include <sched.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "api/clock.h"
#include "libc/real.h"
#include "sched/yield.h"
#include "signal/memory.h"
#include "sync/deadline.h"
#include "sync/nanosleep.h"
#include "thread/cpu_timer.h"

/*
 * In a process without threads a sleep makes only the native system call: a
 * seccomp filter may allow no other.
 */
static int sleep_natively(clockid_t clock, int flags,
			  const struct timespec *request,
			  struct timespec *remaining)
{
	return -wf_real.clock_nanosleep(clock, flags, request, remaining);
}

/* request and remaining are pointers of the program. Returns 0 or -Exxx. */
static int sleep_for(const struct timespec *request, struct timespec *remaining)
{
	struct timespec ts, left;
	int rc;

	if (!wf_is_started())
		return sleep_natively(CLOCK_REALTIME, 0, request, remaining);
	rc = wf_memory_get(&ts, request, sizeof(ts));
	if (rc == 0)
		rc = wf_nanosleep(&ts, remaining != NULL ? &left : NULL);
	if (rc == -EINTR && remaining != NULL &&
	    wf_memory_put(remaining, &left, sizeof(left)) < 0)
		return -EFAULT;
	return rc;
}

static int sleep_until(clockid_t clock, const struct timespec *request)
{
	struct timespec ts;
	int rc;

	if (!wf_is_started())
		return sleep_natively(clock, TIMER_ABSTIME, request, NULL);
	rc = wf_memory_get(&ts, request, sizeof(ts));
	return rc == 0 ? wf_nanosleep_until(clock, &ts) : rc;
}

WF_API(int, nanosleep, const struct timespec *request,
       struct timespec *remaining)
{
	return wf_api_errno(WF_CANCEL_POINT(sleep_for(request, remaining)));
}
WF_API_ALIAS(nanosleep, __nanosleep);

/*
 * Sleeps on the CPU clock of `timed`, another thread. Returns 0 or Exxx. A
 * signal of weft ends the kernel's sleep, too. So the thread sleeps again until
 * the time has come or a handler of the program has run.
 */
static int sleep_on(struct wf_thread *timed, int flags,
		    const struct timespec *request, struct timespec *remaining)
{
	bool is_absolute = (flags & TIMER_ABSTIME) != 0;
	uint32_t nr_handlers = wf_self->nr_handlers;
	struct timespec at, left;
	clockid_t clock;
	int err;

	if (wf_memory_get(&at, request, sizeof(at)) < 0)
		return EFAULT;
	if (timed == wf_self || !wf_cpu_timer_is_valid(&at))
		return EINVAL;
	err = wf_cpu_timer_clock(timed, &clock);
	if (err < 0)
		return -err;
	at = is_absolute ? wf_cpu_timer_translate(timed, at) :
			   wf_cpu_timer_after(clock, at);
	do {
		err = wf_real.clock_nanosleep(clock, TIMER_ABSTIME, &at, NULL);
	} while (err == EINTR && wf_self->nr_handlers == nr_handlers);
	if (err != EINTR || is_absolute || remaining == NULL)
		return err;
	left = wf_cpu_timer_until(clock, at);
	return wf_memory_put(remaining, &left, sizeof(left)) < 0 ? EFAULT : err;
}

/* libc's sleep, repeated if only a signal of weft has ended it. */
static int sleep_in_libc(clockid_t clock, int flags,
			 const struct timespec *request,
			 struct timespec *remaining)
{
	uint32_t nr_handlers = wf_self != NULL ? wf_self->nr_handlers : 0;
	struct timespec left, at;
	int err;

	if (wf_self == NULL || wf_memory_get(&at, request, sizeof(at)) < 0)
		return wf_real.clock_nanosleep(clock, flags, request,
					       remaining);
	do {
		err = wf_real.clock_nanosleep(clock, flags, &at, &left);
		if (err == EINTR && (flags & TIMER_ABSTIME) == 0)
			at = left;
	} while (err == EINTR && wf_self->nr_handlers == nr_handlers);
	if (err == EINTR && (flags & TIMER_ABSTIME) == 0 && remaining != NULL &&
	    wf_memory_put(remaining, &left, sizeof(left)) < 0)
		return EFAULT;
	return err;
}

/*
 * On CPU-time clocks the sleep is libc's. The carrier blocks, and the monitor
 * hands off its VP.
 */
WF_API(int, clock_nanosleep, clockid_t clock, int flags,
       const struct timespec *request, struct timespec *remaining)
{
	struct wf_thread *timed;

	if (!wf_deadline_has_clock(clock)) {
		if (wf_clock_owner(clock, &timed) < 0)
			return EINVAL;
		if (timed != NULL)
			return sleep_on(timed, flags, request, remaining);
		return sleep_in_libc(clock, flags, request, remaining);
	}
	if (flags & TIMER_ABSTIME)
		return -WF_CANCEL_POINT(sleep_until(clock, request));
	if (!wf_is_started())
		return -sleep_natively(clock, flags, request, remaining);
	return -WF_CANCEL_POINT(sleep_for(request, remaining));
}

/* Returns the seconds that are left. errno does not change. */
WF_API(unsigned int, sleep, unsigned int seconds)
{
	struct timespec request = { .tv_sec = seconds };
	struct timespec left = { 0 };

	WF_CANCEL_POINT(sleep_for(&request, &left));
	return (unsigned int)left.tv_sec;
}

WF_API(int, usleep, useconds_t useconds)
{
	struct timespec request = {
		.tv_sec = useconds / 1000000,
		.tv_nsec = useconds % 1000000 * 1000L,
	};

	return wf_api_errno(WF_CANCEL_POINT(sleep_for(&request, NULL)));
}

/* Returns -1 after an interruption, -2 after any other failure. */
WF_API(int, thrd_sleep, const struct timespec *duration,
       struct timespec *remaining)
{
	int rc = WF_CANCEL_POINT(sleep_for(duration, remaining));

	return rc == 0 ? 0 : rc == -EINTR ? -1 : -2;
}

WF_API(int, sched_yield, void)
{
	return wf_sched_yield();
}
WF_API_ALIAS(sched_yield, __sched_yield);

/* libc's header turns the name pthread_yield into sched_yield. */
WF_EXPORT int yield_of_old_programs(void) __asm__("pthread_yield");
int yield_of_old_programs(void)
{
	wf_sched_yield();
	return 0;
}
