/*
 * Cancellation points.
 *
 *     WF_API(int, sem_wait, sem_t *sem)
 *     {
 *             return wf_api_errno(WF_CANCEL_POINT(wf_sem_wait(sem_of(sem))));
 *     }
 *
 * The expression gives 0 or -Exxx; -ECANCELED ends the thread, and is -EINTR
 * if that fails.
 */
#ifndef WEFT_API_CANCEL_H
#define WEFT_API_CANCEL_H

#include <errno.h>
#include <pthread.h>

#include "sched/runtime.h"

static inline bool wf_cancel_point_begin(void)
{
	struct wf_thread *t = wf_thread_self();
	bool was_at_one = t->at_cancel_point;

	if (WF_UNLIKELY(wf_load_relaxed(&t->is_cancelled)))
		pthread_testcancel();
	t->at_cancel_point = true;
	return was_at_one;
}

static inline int wf_cancel_point_end(bool was_at_one, int rc)
{
	wf_self->at_cancel_point = was_at_one;
	if (WF_LIKELY(rc != -ECANCELED))
		return rc;
	pthread_testcancel();
	return -EINTR;
}

#define WF_CANCEL_POINT(expr)                               \
	({                                                  \
		bool was_at_one_ = wf_cancel_point_begin(); \
		int rc_ = (expr);                           \
		wf_cancel_point_end(was_at_one_, rc_);      \
	})

#endif
