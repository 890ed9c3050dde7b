/* SPDX-License-Identifier: MIT */
/*
 * pthread_rwlock_*. Private locks are sync/rwlock.c's. Process-shared ones have
 * libc's layout, and shared/rwlock.c locks them.
 */
#include "api/api.h"

#include "libc/real.h"
#include "shared/rwlock.h"
#include "sync/rwlock.h"

static struct wf_rwlock *rwlock_of(pthread_rwlock_t *rwlock)
{
	return (struct wf_rwlock *)rwlock;
}

static bool is_shared(pthread_rwlock_t *rwlock)
{
	return wf_rwlock_is_shared(rwlock_of(rwlock));
}

WF_API(int, pthread_rwlock_init, pthread_rwlock_t *rwlock,
       const pthread_rwlockattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;
	int flags = PTHREAD_RWLOCK_DEFAULT_NP;

	if (attr != NULL) {
		pthread_rwlockattr_getpshared(attr, &shared);
		pthread_rwlockattr_getkind_np(attr, &flags);
	}
	if (shared != PTHREAD_PROCESS_PRIVATE)
		return wf_real.pthread_rwlock_init(rwlock, attr);
	return -wf_rwlock_init(rwlock_of(rwlock), flags);
}
WF_API_ALIAS(pthread_rwlock_init, __pthread_rwlock_init);

/*
 * As libc's function, does not read the lock: some programs pass a bad address.
 */
WF_API(int, pthread_rwlock_destroy, pthread_rwlock_t *rwlock)
{
	return 0;
}
WF_API_ALIAS(pthread_rwlock_destroy, __pthread_rwlock_destroy);

WF_API_FAST(int, pthread_rwlock_rdlock, pthread_rwlock_t *rwlock)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_rdlock(rwlock, CLOCK_REALTIME, NULL);
	return -wf_rwlock_rdlock(rwlock_of(rwlock));
}
WF_API_ALIAS(pthread_rwlock_rdlock, __pthread_rwlock_rdlock);

WF_API_FAST(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *rwlock)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_real.pthread_rwlock_tryrdlock(rwlock);
	return -wf_rwlock_tryrdlock(rwlock_of(rwlock));
}
WF_API_ALIAS(pthread_rwlock_tryrdlock, __pthread_rwlock_tryrdlock);

WF_API(int, pthread_rwlock_clockrdlock, pthread_rwlock_t *rwlock,
       clockid_t clock, const struct timespec *abstime)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_rdlock(rwlock, clock, abstime);
	return -wf_rwlock_clockrdlock(rwlock_of(rwlock), clock, abstime);
}

WF_API(int, pthread_rwlock_timedrdlock, pthread_rwlock_t *rwlock,
       const struct timespec *abstime)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_rdlock(rwlock, CLOCK_REALTIME, abstime);
	return -wf_rwlock_clockrdlock(rwlock_of(rwlock), CLOCK_REALTIME,
				      abstime);
}

WF_API_FAST(int, pthread_rwlock_wrlock, pthread_rwlock_t *rwlock)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_wrlock(rwlock, CLOCK_REALTIME, NULL);
	return -wf_rwlock_wrlock(rwlock_of(rwlock));
}
WF_API_ALIAS(pthread_rwlock_wrlock, __pthread_rwlock_wrlock);

WF_API_FAST(int, pthread_rwlock_trywrlock, pthread_rwlock_t *rwlock)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_trywrlock(rwlock);
	return -wf_rwlock_trywrlock(rwlock_of(rwlock));
}
WF_API_ALIAS(pthread_rwlock_trywrlock, __pthread_rwlock_trywrlock);

WF_API(int, pthread_rwlock_clockwrlock, pthread_rwlock_t *rwlock,
       clockid_t clock, const struct timespec *abstime)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_wrlock(rwlock, clock, abstime);
	return -wf_rwlock_clockwrlock(rwlock_of(rwlock), clock, abstime);
}

WF_API(int, pthread_rwlock_timedwrlock, pthread_rwlock_t *rwlock,
       const struct timespec *abstime)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_wrlock(rwlock, CLOCK_REALTIME, abstime);
	return -wf_rwlock_clockwrlock(rwlock_of(rwlock), CLOCK_REALTIME,
				      abstime);
}

WF_API_FAST(int, pthread_rwlock_unlock, pthread_rwlock_t *rwlock)
{
	if (WF_UNLIKELY(is_shared(rwlock)))
		return wf_shared_rwlock_unlock(rwlock);
	return -wf_rwlock_unlock(rwlock_of(rwlock));
}
WF_API_ALIAS(pthread_rwlock_unlock, __pthread_rwlock_unlock);
