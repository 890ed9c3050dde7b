/* SPDX-License-Identifier: MIT */
/*
 * pthread_cond_*. Private conditions are sync/cond.c's. Process-shared ones
 * have libc's layout, since processes without weft may use them. Threads wait
 * for them by shared/cond.c. If weft does not know libc's protocol, or the
 * thread cannot park, it calls libc's own functions.
 */
#include "api/api.h"
#include "api/cancel.h"

#include "libc/cond_words.h"
#include "libc/real.h"
#include "shared/cond.h"
#include "sync/cond.h"
#include "sync/inherit.h"
#include "sync/ceiling.h"
#include "sync/shared.h"
#include "wait/sleep.h"

static struct wf_cond *cond_of(pthread_cond_t *cond)
{
	return (struct wf_cond *)cond;
}

static struct wf_mutex *mutex_of(pthread_mutex_t *mutex)
{
	return (struct wf_mutex *)mutex;
}

static bool is_shared(pthread_cond_t *cond)
{
	return wf_cond_is_shared(cond_of(cond));
}

static clockid_t clock_of(pthread_cond_t *cond)
{
	return WF_UNLIKELY(is_shared(cond)) ? wf_cond_words_clock(cond) :
					      wf_cond_clock(cond_of(cond));
}

/*
 * Does libc's function make the wait? It can if libc can lock the mutex itself.
 */
static bool is_libc(pthread_mutex_t *mutex)
{
	return wf_mutex_is_libc(mutex_of(mutex)) &&
	       (!wf_inherit_has(mutex) || wf_inherit_is_libc()) &&
	       !wf_ceiling_has(mutex) && !wf_shared_cond_will_wait();
}

static void hold_again(void *mutex)
{
	wf_shared_end(mutex);
}

static int libc_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
		     clockid_t clock, const struct timespec *abstime)
{
	int rc;

	wf_shared_begin(mutex);
	/* A cancelled thread holds the mutex while it unwinds. */
	pthread_cleanup_push(hold_again, mutex);
	rc = abstime == NULL ? wf_real.pthread_cond_wait(cond, mutex) :
			       wf_real.pthread_cond_clockwait(cond, mutex,
							      clock, abstime);
	pthread_cleanup_pop(true);
	return rc;
}

/* abstime NULL: no deadline. Returns 0 or -EINVAL. */
static int deadline_of(clockid_t clock, const struct timespec *abstime,
		       int64_t *ret_ns)
{
	*ret_ns = WF_FOREVER;
	return abstime == NULL ? 0 :
				 wf_deadline_from_abs(clock, abstime, ret_ns);
}

static int park_shared(pthread_cond_t *cond, pthread_mutex_t *mutex,
		       clockid_t clock, const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc = deadline_of(clock, abstime, &deadline_ns);

	if (rc != 0)
		return rc;
	return wf_shared_cond_will_wait() ?
		       wf_shared_cond_wait(cond, mutex, deadline_ns) :
		       wf_cond_wait_shared(mutex_of(mutex), deadline_ns);
}

static WF_NOINLINE int wait_shared(pthread_cond_t *cond, pthread_mutex_t *mutex,
				   clockid_t clock,
				   const struct timespec *abstime)
{
	if (is_libc(mutex))
		return libc_wait(cond, mutex, clock, abstime);
	return -WF_CANCEL_POINT(park_shared(cond, mutex, clock, abstime));
}

static int wait_private(pthread_cond_t *cond, pthread_mutex_t *mutex,
			clockid_t clock, const struct timespec *abstime)
{
	int64_t deadline_ns;
	int rc = deadline_of(clock, abstime, &deadline_ns);

	return rc != 0 ? rc :
			 wf_cond_wait(cond_of(cond), mutex_of(mutex),
				      deadline_ns);
}

WF_API(int, pthread_cond_init, pthread_cond_t *cond,
       const pthread_condattr_t *attr)
{
	int shared = PTHREAD_PROCESS_PRIVATE;
	clockid_t clock = CLOCK_REALTIME;
	int rc;

	if (attr != NULL) {
		pthread_condattr_getpshared(attr, &shared);
		pthread_condattr_getclock(attr, &clock);
	}
	if (shared == PTHREAD_PROCESS_PRIVATE)
		return -wf_cond_init(cond_of(cond), clock);
	rc = wf_real.pthread_cond_init(cond, attr);
	/* This libc has its flags in a word that wf_cond does not read. */
	return rc == 0 && !wf_cond_is_shared(cond_of(cond)) ? ENOTSUP : rc;
}

static WF_NOINLINE int destroy_shared(pthread_cond_t *cond)
{
	if (!wf_shared_cond_can_wait())
		return wf_real.pthread_cond_destroy(cond);
	wf_shared_cond_fini(cond);
	return 0;
}

WF_API(int, pthread_cond_destroy, pthread_cond_t *cond)
{
	if (WF_UNLIKELY(is_shared(cond)))
		return destroy_shared(cond);
	return -wf_cond_fini(cond_of(cond));
}

WF_INLINE int wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
			 clockid_t clock, const struct timespec *abstime)
{
	if (WF_UNLIKELY(is_shared(cond)))
		return wait_shared(cond, mutex, clock, abstime);
	return -WF_CANCEL_POINT(wait_private(cond, mutex, clock, abstime));
}

WF_API(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return wait_until(cond, mutex, CLOCK_REALTIME, NULL);
}

WF_API(int, pthread_cond_timedwait, pthread_cond_t *cond,
       pthread_mutex_t *mutex, const struct timespec *abstime)
{
	return wait_until(cond, mutex, clock_of(cond), abstime);
}

WF_API(int, pthread_cond_clockwait, pthread_cond_t *cond,
       pthread_mutex_t *mutex, clockid_t clock, const struct timespec *abstime)
{
	return wait_until(cond, mutex, clock, abstime);
}

static WF_NOINLINE int signal_shared(pthread_cond_t *cond)
{
	if (!wf_shared_cond_can_wait())
		return wf_real.pthread_cond_signal(cond);
	wf_shared_cond_signal(cond);
	return 0;
}

WF_API_FAST(int, pthread_cond_signal, pthread_cond_t *cond)
{
	if (WF_UNLIKELY(is_shared(cond)))
		return signal_shared(cond);
	return wf_cond_signal(cond_of(cond));
}

static WF_NOINLINE int broadcast_shared(pthread_cond_t *cond)
{
	if (!wf_shared_cond_can_wait())
		return wf_real.pthread_cond_broadcast(cond);
	wf_shared_cond_broadcast(cond);
	return 0;
}

WF_API_FAST(int, pthread_cond_broadcast, pthread_cond_t *cond)
{
	if (WF_UNLIKELY(is_shared(cond)))
		return broadcast_shared(cond);
	return -wf_cond_broadcast(cond_of(cond));
}
