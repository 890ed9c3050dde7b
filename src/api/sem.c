/* SPDX-License-Identifier: MIT */
/*
 * sem_*. Private semaphores are sync/sem.c's. Process-shared ones, also those
 * of sem_open, have libc's layout, and shared/sem.c waits for them.
 */
#include "api/api.h"
#include "api/cancel.h"

#include "io/call/futex.h"
#include "libc/real.h"
#include "shared/sem.h"
#include "sync/sem.h"
#include "wait/sleep.h"

static struct wf_sem *sem_of(sem_t *sem)
{
	return (struct wf_sem *)sem;
}

WF_API(int, sem_init, sem_t *sem, int pshared, unsigned int value)
{
	if (pshared)
		return wf_real.sem_init(sem, pshared, value);
	return wf_api_errno(wf_sem_init(sem_of(sem), value));
}

WF_API(int, sem_destroy, sem_t *sem)
{
	return 0;
}

/*
 * Can weft make the wait without blocking the carrier? If not, libc's function
 * waits: only that one can be cancelled while it blocks in the kernel.
 */
static bool can_park(sem_t *sem)
{
	int value;

	wf_real.sem_getvalue(sem, &value);
	return value > 0 ? wf_io_can_wait_futex() : wf_io_will_wait_futex();
}

static WF_NOINLINE int wait_shared(sem_t *sem)
{
	if (!can_park(sem))
		return wf_real.sem_wait(sem);
	return wf_api_errno(
		WF_CANCEL_POINT(wf_shared_sem_wait(sem, WF_FOREVER)));
}

static WF_NOINLINE int clockwait_shared(sem_t *sem, clockid_t clock,
					const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc;

	if (!can_park(sem))
		return wf_real.sem_clockwait(sem, clock, abstime);
	rc = wf_deadline_from_abs(clock, abstime, &deadline_ns);
	if (rc != 0)
		return wf_api_errno(rc);
	return wf_api_errno(
		WF_CANCEL_POINT(wf_shared_sem_wait(sem, deadline_ns)));
}

/* The first call of a kernel thread, or a cancelled one. */
static WF_NOINLINE int wait_first(sem_t *sem)
{
	return wf_api_errno(WF_CANCEL_POINT(wf_sem_wait(sem_of(sem))));
}

/* Waits for a permit. t is the caller, which is attached. */
static WF_NOINLINE int wait(sem_t *sem, struct wf_thread *t)
{
	int rc;

	t->at_cancel_point = true;
	rc = wf_sem_wait_slow(t, sem_of(sem), WF_FOREVER);
	return wf_api_errno(wf_cancel_point_leave(t, rc));
}

/* Calls no function if there is a permit and no cancellation request. */
WF_API_FAST(int, sem_wait, sem_t *sem)
{
	struct wf_thread *t = wf_self;

	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return wait_shared(sem);
	if (WF_UNLIKELY(t == NULL || wf_load_relaxed(&t->is_cancelled)))
		return wait_first(sem);
	if (WF_UNLIKELY(wf_sem_trywait(sem_of(sem)) != 0))
		return wait(sem, t);
	wf_sem_note(t, sem_of(sem));
	return 0;
}

WF_API_FAST(int, sem_trywait, sem_t *sem)
{
	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return wf_real.sem_trywait(sem);
	return wf_api_errno(wf_sem_trywait(sem_of(sem)));
}

WF_API(int, sem_timedwait, sem_t *sem, const struct timespec *abstime)
{
	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return clockwait_shared(sem, CLOCK_REALTIME, abstime);
	return wf_api_errno(WF_CANCEL_POINT(
		wf_sem_clockwait(sem_of(sem), CLOCK_REALTIME, abstime)));
}

WF_API(int, sem_clockwait, sem_t *sem, clockid_t clock,
       const struct timespec *abstime)
{
	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return clockwait_shared(sem, clock, abstime);
	return wf_api_errno(
		WF_CANCEL_POINT(wf_sem_clockwait(sem_of(sem), clock, abstime)));
}

static WF_NOINLINE int post(sem_t *sem)
{
	return wf_api_errno(wf_sem_post_slow(sem_of(sem)));
}

WF_API_FAST(int, sem_post, sem_t *sem)
{
	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return wf_real.sem_post(sem);
	return WF_LIKELY(wf_sem_try_post(sem_of(sem))) ? 0 : post(sem);
}

WF_API_FAST(int, sem_getvalue, sem_t *sem, int *value)
{
	if (WF_UNLIKELY(wf_sem_is_shared(sem_of(sem))))
		return wf_real.sem_getvalue(sem, value);
	*value = wf_sem_value(sem_of(sem));
	return 0;
}
