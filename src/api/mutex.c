/* SPDX-License-Identifier: MIT */
/*
 * pthread_mutex_*. Private mutexes are sync/mutex.c's. Robust and process-
 * shared ones have libc's layout, and shared/mutex.c locks them. The fast
 * paths of lock and unlock are inline, without a frame.
 */
#include "api/api.h"

#include "boot/boot.h"
#include "libc/real.h"
#include "shared/mutex.h"
#include "sync/deadline.h"
#include "sync/mutex.h"

static struct wf_mutex *mutex_of(pthread_mutex_t *mutex)
{
	return (struct wf_mutex *)mutex;
}

/* The kind that libc would store, without the flags of every mutex. */
static int kind_of(const pthread_mutexattr_t *attr, int *ret_ceiling)
{
	int kind, protocol, robust, shared;

	pthread_mutexattr_gettype(attr, &kind);
	pthread_mutexattr_getprotocol(attr, &protocol);
	pthread_mutexattr_getrobust(attr, &robust);
	pthread_mutexattr_getpshared(attr, &shared);
	if (robust == PTHREAD_MUTEX_ROBUST)
		kind |= WF_MUTEX_ROBUST;
	if (shared == PTHREAD_PROCESS_SHARED)
		kind |= WF_MUTEX_SHARED;
	if (protocol == PTHREAD_PRIO_INHERIT)
		kind |= WF_MUTEX_INHERIT;
	if (protocol == PTHREAD_PRIO_PROTECT) {
		kind |= WF_MUTEX_PROTECT;
		pthread_mutexattr_getprioceiling(attr, ret_ceiling);
	}
	return kind;
}

WF_API(int, pthread_mutex_init, pthread_mutex_t *mutex,
       const pthread_mutexattr_t *attr)
{
	int ceiling = 0;
	int kind = attr != NULL ? kind_of(attr, &ceiling) : 0;

	if (kind & (WF_MUTEX_ROBUST | WF_MUTEX_SHARED))
		return wf_real.pthread_mutex_init(mutex, attr);
	return -wf_mutex_init(mutex_of(mutex), kind, ceiling);
}
WF_API_ALIAS(pthread_mutex_init, __pthread_mutex_init);

WF_API(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
{
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_real.pthread_mutex_destroy(mutex);
	return -wf_mutex_fini(mutex_of(mutex));
}
WF_API_ALIAS(pthread_mutex_destroy, __pthread_mutex_destroy);

/*
 * A mutex with a priority ceiling boosts its holder. weft can do that only
 * after the runtime has started.
 */
static void prepare(const struct wf_mutex *m)
{
	int kind = wf_mutex_kind(m); /* -1: it was destroyed */

	if (WF_UNLIKELY(kind > 0 && (kind & WF_MUTEX_PROTECT)) &&
	    !wf_is_started())
		wf_boot_start();
}

static WF_NOINLINE int lock(pthread_mutex_t *mutex)
{
	prepare(mutex_of(mutex));
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_shared_mutex_lock(mutex, CLOCK_REALTIME, NULL);
	return -wf_mutex_lock(mutex_of(mutex));
}

WF_API_FAST(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	return wf_mutex_lock_fast(mutex_of(mutex)) ? 0 : lock(mutex);
}
WF_API_ALIAS(pthread_mutex_lock, __pthread_mutex_lock);

WF_API_FAST(int, pthread_mutex_trylock, pthread_mutex_t *mutex)
{
	prepare(mutex_of(mutex));
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_shared_mutex_trylock(mutex);
	return -wf_mutex_trylock(mutex_of(mutex));
}
WF_API_ALIAS(pthread_mutex_trylock, __pthread_mutex_trylock);

WF_API(int, pthread_mutex_timedlock, pthread_mutex_t *mutex,
       const struct timespec *abstime)
{
	prepare(mutex_of(mutex));
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_shared_mutex_lock(mutex, CLOCK_REALTIME, abstime);
	return -wf_mutex_clocklock(mutex_of(mutex), CLOCK_REALTIME, abstime);
}

WF_API(int, pthread_mutex_clocklock, pthread_mutex_t *mutex, clockid_t clock,
       const struct timespec *abstime)
{
	if (WF_UNLIKELY(!wf_deadline_has_clock(clock)))
		return EINVAL;
	prepare(mutex_of(mutex));
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_shared_mutex_lock(mutex, clock, abstime);
	return -wf_mutex_clocklock(mutex_of(mutex), clock, abstime);
}

static WF_NOINLINE int unlock(pthread_mutex_t *mutex)
{
	if (WF_UNLIKELY(wf_mutex_is_libc(mutex_of(mutex))))
		return wf_shared_mutex_unlock(mutex);
	return -wf_mutex_unlock(mutex_of(mutex));
}

WF_API_FAST(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
	return wf_mutex_unlock_fast(mutex_of(mutex)) ? 0 : unlock(mutex);
}
WF_API_ALIAS(pthread_mutex_unlock, __pthread_mutex_unlock);

/* libc stores the ceiling in the word that weft locks, so weft has its own. */
WF_API(int, pthread_mutex_getprioceiling, const pthread_mutex_t *mutex,
       int *ceiling)
{
	const struct wf_mutex *m = (const struct wf_mutex *)mutex;

	if (wf_mutex_is_libc(m))
		return wf_real.pthread_mutex_getprioceiling(mutex, ceiling);
	return -wf_mutex_ceiling(m, ceiling);
}

WF_API(int, pthread_mutex_setprioceiling, pthread_mutex_t *mutex, int ceiling,
       int *old_ceiling)
{
	if (wf_mutex_is_libc(mutex_of(mutex)))
		return wf_real.pthread_mutex_setprioceiling(mutex, ceiling,
							    old_ceiling);
	if (ceiling < sched_get_priority_min(SCHED_FIFO) ||
	    ceiling > sched_get_priority_max(SCHED_FIFO))
		return EINVAL;
	return -wf_mutex_set_ceiling(mutex_of(mutex), ceiling, old_ceiling);
}
