/* SPDX-License-Identifier: MIT */
/*
 * Makes a function a cancellation point.
 *
 *     WF_API(int, sem_wait, sem_t *sem)
 *     {
 *             return wf_api_errno(WF_CANCEL_POINT(wf_sem_wait(sem_of(sem))));
 *     }
 *
 * The expression returns 0 or more, or -Exxx. The thread checks for a
 * cancellation request before the call, and once more if the call fails. A
 * failed call has done nothing, so a request that came meanwhile ends the
 * thread, too. A program may cancel a reader and then close its descriptor. If
 * the thread has not ended, -ECANCELED becomes -EINTR.
 */
#ifndef WEFT_API_CANCEL_H
#define WEFT_API_CANCEL_H

#include <errno.h>
#include <pthread.h>

#include "sched/runtime.h"

/*
 * Begins a cancellation point and returns the calling thread. A handler that
 * runs before the end of the call is no part of the cancellation point. So
 * signal/deliver.c and signal/foreign.c clear at_cancel_point for the handler
 * and restore it afterwards.
 */
static inline struct wf_thread *wf_cancel_point_begin(void)
{
	struct wf_thread *t = wf_thread_self();

	if (WF_UNLIKELY(wf_load_relaxed(&t->is_cancelled)))
		pthread_testcancel();
	t->at_cancel_point = true;
	return t;
}

static inline int wf_cancel_point_result(struct wf_thread *t, int rc)
{
	if (WF_LIKELY(rc >= 0))
		return rc;
	if (WF_UNLIKELY(wf_load_relaxed(&t->is_cancelled)))
		pthread_testcancel();
	return rc == -ECANCELED ? -EINTR : rc;
}

static inline int wf_cancel_point_end(struct wf_thread *t, int rc)
{
	t->at_cancel_point = false;
	wf_runtime_do_work(t);
	return wf_cancel_point_result(t, rc);
}

/*
 * As wf_cancel_point_end, for a call that has just left the runtime, and so has
 * already done the work that waited for that.
 */
static inline int wf_cancel_point_leave(struct wf_thread *t, int rc)
{
	t->at_cancel_point = false;
	return wf_cancel_point_result(t, rc);
}

#define WF_CANCEL_POINT(expr)                                   \
	({                                                      \
		struct wf_thread *t_ = wf_cancel_point_begin(); \
		int rc_ = (expr);                               \
		wf_cancel_point_end(t_, rc_);                   \
	})

#endif
