/* SPDX-License-Identifier: MIT */
/*
 * mtx_* and cnd_* of <threads.h>. They are weft's mutexes and conditions, with
 * other names and results.
 */
#include "api/api.h"

#include <threads.h>

#include "api/cancel.h"
#include "sched/yield.h"
#include "sync/cond.h"
#include "wait/sleep.h"

_Static_assert(sizeof(mtx_t) == sizeof(struct wf_mutex), "same objects");
_Static_assert(sizeof(cnd_t) == sizeof(struct wf_cond), "same objects");

static int result_of(int rc)
{
	switch (rc) {
	case 0:
		return thrd_success;
	case -EBUSY:
		return thrd_busy;
	case -ETIMEDOUT:
		return thrd_timedout;
	case -ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

WF_API(int, mtx_init, mtx_t *mutex, int type)
{
	/* As in libc, any other type is a plain mutex. */
	int kind = (type & ~mtx_timed) == mtx_recursive ?
			   PTHREAD_MUTEX_RECURSIVE_NP :
			   PTHREAD_MUTEX_TIMED_NP;

	return result_of(wf_mutex_init((struct wf_mutex *)mutex, kind, 0));
}

WF_API(void, mtx_destroy, mtx_t *mutex)
{
	wf_mutex_fini((struct wf_mutex *)mutex);
}

WF_API_FAST(int, mtx_lock, mtx_t *mutex)
{
	return result_of(wf_mutex_lock((struct wf_mutex *)mutex));
}

WF_API_FAST(int, mtx_trylock, mtx_t *mutex)
{
	return result_of(wf_mutex_trylock((struct wf_mutex *)mutex));
}

WF_API(int, mtx_timedlock, mtx_t *mutex, const struct timespec *abstime)
{
	return result_of(wf_mutex_clocklock((struct wf_mutex *)mutex,
					    CLOCK_REALTIME, abstime));
}

WF_API_FAST(int, mtx_unlock, mtx_t *mutex)
{
	return result_of(wf_mutex_unlock((struct wf_mutex *)mutex));
}

WF_API(int, cnd_init, cnd_t *cond)
{
	return result_of(wf_cond_init((struct wf_cond *)cond, CLOCK_REALTIME));
}

WF_API(void, cnd_destroy, cnd_t *cond)
{
	wf_cond_fini((struct wf_cond *)cond);
}

static int wait_until(cnd_t *cond, mtx_t *mutex, int64_t deadline_ns)
{
	return WF_CANCEL_POINT(wf_cond_wait(
		(struct wf_cond *)cond, (struct wf_mutex *)mutex, deadline_ns));
}

WF_API(int, cnd_wait, cnd_t *cond, mtx_t *mutex)
{
	return result_of(wait_until(cond, mutex, WF_FOREVER));
}

WF_API(int, cnd_timedwait, cnd_t *cond, mtx_t *mutex,
       const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc = wf_deadline_from_abs(CLOCK_REALTIME, abstime, &deadline_ns);

	if (rc == 0)
		rc = wait_until(cond, mutex, deadline_ns);
	return result_of(rc);
}

WF_API_FAST(int, cnd_signal, cnd_t *cond)
{
	return result_of(wf_cond_signal((struct wf_cond *)cond));
}

WF_API_FAST(int, cnd_broadcast, cnd_t *cond)
{
	return result_of(wf_cond_broadcast((struct wf_cond *)cond));
}

WF_API(void, thrd_yield, void)
{
	wf_sched_yield();
}
