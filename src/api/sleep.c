/* The sleep family, and giving up the VP. */
#include "api/api.h"
#include "api/cancel.h"

#include <sched.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "libc/real.h"
#include "sched/yield.h"
#include "signal/memory.h"
#include "sync/deadline.h"
#include "sync/nanosleep.h"

/* Both are the program's. */
static int sleep_for(const struct timespec *request, struct timespec *remaining)
{
	struct timespec ts, left;
	int rc = wf_memory_get(&ts, request, sizeof(ts));

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
	int rc = wf_memory_get(&ts, request, sizeof(ts));

	return rc == 0 ? wf_nanosleep_until(clock, &ts) : rc;
}

WF_API(int, nanosleep, const struct timespec *request,
       struct timespec *remaining)
{
	return wf_api_errno(WF_CANCEL_POINT(sleep_for(request, remaining)));
}
WF_API_ALIAS(nanosleep, __nanosleep);

/* CPU-time clocks and the like: libc's, and the carrier is rescued. */
WF_API(int, clock_nanosleep, clockid_t clock, int flags,
       const struct timespec *request, struct timespec *remaining)
{
	if (!wf_deadline_has_clock(clock))
		return wf_real.clock_nanosleep(clock, flags, request,
					       remaining);
	if (flags & TIMER_ABSTIME)
		return -WF_CANCEL_POINT(sleep_until(clock, request));
	return -WF_CANCEL_POINT(sleep_for(request, remaining));
}

/* The seconds that are left, 0 if none; errno stays. */
WF_API(unsigned int, sleep, unsigned int seconds)
{
	struct timespec request = { .tv_sec = seconds };
	struct timespec left = { 0 };

	WF_CANCEL_POINT(wf_nanosleep(&request, &left));
	return (unsigned int)left.tv_sec;
}

WF_API(int, usleep, useconds_t useconds)
{
	struct timespec request = {
		.tv_sec = useconds / 1000000,
		.tv_nsec = useconds % 1000000 * 1000L,
	};

	return wf_api_errno(WF_CANCEL_POINT(wf_nanosleep(&request, NULL)));
}

/* -1 when interrupted, another negative number for any other failure. */
WF_API(int, thrd_sleep, const struct timespec *duration,
       struct timespec *remaining)
{
	int rc = sleep_for(duration, remaining);

	return rc == 0 ? 0 : rc == -EINTR ? -1 : -2;
}

WF_API(int, sched_yield, void)
{
	wf_sched_yield();
	return 0;
}
WF_API_ALIAS(sched_yield, __sched_yield);

/* libc's header makes this name another one for sched_yield. */
WF_EXPORT int yield_of_old_programs(void) __asm__("pthread_yield");
int yield_of_old_programs(void)
{
	wf_sched_yield();
	return 0;
}
