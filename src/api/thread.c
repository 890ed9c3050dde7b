/* SPDX-License-Identifier: MIT */
/*
 * Creates, joins, detaches, ends and cancels threads. The first
 * pthread_create() starts the runtime. A thread that libc has made, or a Go
 * runtime, is joined, detached and cancelled by libc's functions.
 */
#include <errno.h>
#include <pthread.h>

#include "api/api.h"
#include "api/cancel.h"
#include "api/attr.h"
#include "boot/boot.h"
#include "libc/object.h"
#include "libc/real.h"
#include "os/kthread.h"
#include "sched/runtime.h"
#include "signal/cancel.h"
#include "signal/mask.h"
#include "signal/queue.h"
#include "sync/deadline.h"
#include "thread/lifecycle.h"
#include "thread/main_exit.h"
#include "wait/sleep.h"

/*
 * Does ThreadSanitizer create its own thread? It does at the program's first
 * pthread_create(), without an argument, and with all signals blocked by direct
 * system calls. That thread sleeps in system calls and must take no signal. So
 * libc makes it.
 */
static bool is_sanitizers_own(const void *arg)
{
	const struct wf_thread *t = wf_thread_self();

	return arg == NULL && wf_mask_of_first(t) != wf_os_get_signal_mask();
}

/*
 * Writes to a stack that the program has passed, as libc does. If that faults,
 * it faults here, where the program's handler can run.
 */
static WF_NOINLINE void touch_stack(const struct wf_thread_params *p)
{
	volatile char *last = (char *)p->user_stack + p->user_stack_bytes - 1;

	*last = *last;
}

WF_API(int, pthread_create, pthread_t *ret_thread, const pthread_attr_t *attr,
       void *(*start)(void *), void *arg)
{
	struct wf_thread_params params;
	int err = 0;

	/* OWN_RUNTIME-1: libc makes the threads of a Go runtime. */
	if (WF_UNLIKELY(wf_object_has_runtime((const void *)start)))
		return wf_real.pthread_create(ret_thread, attr, start, arg);
	if (WF_UNLIKELY(!wf_is_started())) {
		if (is_sanitizers_own(arg) || wf_boot_stays_native())
			return wf_real.pthread_create(ret_thread, attr, start,
						      arg);
		err = wf_boot_start();
	}
	if (err == 0)
		err = wf_attr_to_params(attr, start, &params);
	if (err == 0 && WF_UNLIKELY(params.user_stack != NULL))
		touch_stack(&params);
	if (err == 0)
		err = wf_thread_create(&params, start, arg, ret_thread);
	return -err;
}

/* The thread, or NULL if libc has made it. */
static struct wf_thread *made_by_weft(pthread_t thread)
{
	struct wf_thread *t = wf_thread_of(thread);

	return t != NULL && t->kind != WF_THREAD_FOREIGN ? wf_apart(t) : NULL;
}

WF_API(int, pthread_join, pthread_t thread, void **ret_result)
{
	struct wf_thread *t = made_by_weft(thread), *me;

	if (WF_UNLIKELY(t == NULL))
		return wf_real.pthread_join(thread, ret_result);
	me = wf_cancel_point_begin();
	return -wf_cancel_point_leave(me, wf_thread_join(me, t, ret_result,
							 INT64_MAX));
}

WF_API(int, pthread_tryjoin_np, pthread_t thread, void **ret_result)
{
	struct wf_thread *t = made_by_weft(thread);

	if (WF_UNLIKELY(t == NULL))
		return wf_real.pthread_tryjoin_np(thread, ret_result);
	return -wf_thread_tryjoin(t, ret_result);
}

static WF_NOINLINE int join(struct wf_thread *t, void **ret_result,
			    int64_t deadline_ns)
{
	return wf_thread_join(wf_thread_self(), t, ret_result, deadline_ns);
}

/*
 * A caller that need not wait needs no valid time. If other calls return ESRCH
 * for t, it has left the program's code. It leaves its stack soon, so the join
 * waits for it without a deadline.
 */
static int join_until(struct wf_thread *t, void **ret_result, clockid_t clock,
		      const struct timespec *abstime)
{
	int err = wf_thread_tryjoin(t, ret_result);
	int64_t deadline_ns;

	if (err != -EBUSY)
		return err;
	if (t == wf_self)
		return -EDEADLK;
	if (wf_sigqueue_is_closed(&t->sigqueue))
		return join(t, ret_result, INT64_MAX);
	err = wf_deadline_from_abs(clock, abstime, &deadline_ns);
	return err == 0 ? join(t, ret_result, deadline_ns) : err;
}

WF_API(int, pthread_clockjoin_np, pthread_t thread, void **ret_result,
       clockid_t clock, const struct timespec *abstime)
{
	struct wf_thread *t = made_by_weft(thread);

	if (WF_UNLIKELY(t == NULL))
		return wf_real.pthread_clockjoin_np(thread, ret_result, clock,
						    abstime);
	if (!wf_deadline_has_clock(clock))
		return EINVAL;
	return -WF_CANCEL_POINT(join_until(t, ret_result, clock, abstime));
}

WF_API(int, pthread_timedjoin_np, pthread_t thread, void **ret_result,
       const struct timespec *abstime)
{
	return pthread_clockjoin_np(thread, ret_result, CLOCK_REALTIME,
				    abstime);
}

WF_API(int, pthread_detach, pthread_t thread)
{
	struct wf_thread *t = made_by_weft(thread);

	if (WF_UNLIKELY(t == NULL))
		return wf_real.pthread_detach(thread);
	return -wf_thread_detach(t);
}

WF_API(void, pthread_exit, void *result)
{
	struct wf_thread *t = wf_thread_self();

	t->result = result;
	if (t->slot.class == NULL && t->kind != WF_THREAD_FOREIGN)
		wf_main_exit_prepare(t);
	wf_real.pthread_exit(result);
	__builtin_unreachable();
}

/*
 * Sets weft's flag first: once libc's pthread_cancel has set its own, the
 * thread may end and its memory may be freed.
 */
static int cancel_foreign(pthread_t thread)
{
	struct wf_thread *t = wf_thread_of(thread);
	int rc;

	if (t != NULL)
		wf_store_relaxed(&t->is_cancelled, true);
	rc = wf_real.pthread_cancel(thread);
	if (t != NULL)
		wf_cancel_wake(t);
	return rc;
}

WF_API(int, pthread_cancel, pthread_t thread)
{
	struct wf_thread *t = made_by_weft(thread);

	if (t == NULL)
		return cancel_foreign(thread);
	wf_cancel_request(t);
	return 0;
}
