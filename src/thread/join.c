/* SPDX-License-Identifier: MIT */
/*
 * A joiner registers itself in t->joiner and waits on t->exit_state as a user
 * futex. The lock of the bucket of exit_state orders joiners, detaching,
 * time-outs and the end of t. If t has not started yet, the joiner claims it
 * and gives it the VP at once.
 *
 * JOIN-1. exit_state and joiner change under that lock only.
 * JOIN-2. DONE is set when t is off its stack. Then the joiner frees t. Without
 *     a joiner, the thread that sets the second of the bits DONE and DETACHED
 *     frees t.
 * JOIN-3. A joiner that leaves its wait by a jump or by its own end is no
 *     longer the joiner. If t has ended meanwhile, another thread may still
 *     join it. [leave_wait]
 */
#include <errno.h>

#include "libc/cleanup.h"
#include "libc/tcb.h"
#include "sched/entry.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/start.h"
#include "thread/lifecycle.h"
#include "thread/reap.h"
#include "wait/closed.h"
#include "wait/ufutex.h"
#include "wait/ufutex_bucket.h"
#include "wait/ufutex_internal.h"

static bool is_done(const struct wf_thread *t)
{
	/* acquire: pairs with the release of DONE in exit.c */
	return (wf_load_acquire(&t->exit_state) & WF_EXIT_DONE) != 0;
}

/*
 * True if t was joined. Stays true until t's memory is used again, as with
 * glibc.
 */
static bool is_gone(const struct wf_thread *t)
{
	return is_done(t) && wf_load_relaxed(&t->joiner) != 0;
}

/*
 * True if t waits to join `me`, so that the two would wait for each other. A
 * thread that is about to be cancelled does not count.
 */
static bool is_circle(const struct wf_thread *t, const struct wf_thread *me)
{
	return t == me || (wf_load_relaxed(&me->joiner) == t->index &&
			   !wf_load_relaxed(&t->is_cancelled));
}

/*
 * Registers the caller as the joiner of t. Returns exit_state, which does not
 * change before the bucket is unlocked, or an error.
 */
WF_INLINE int begin_locked(struct wf_thread *t, struct wf_thread *me)
{
	/* acquire: pairs with the release of DONE in exit.c */
	uint32_t state = wf_load_acquire(&t->exit_state);
	uint32_t joiner = wf_load_relaxed(&t->joiner);

	if (WF_UNLIKELY(joiner != 0 && (state & WF_EXIT_DONE) != 0))
		return -ESRCH; /* as is_gone() */
	if ((state & WF_EXIT_DETACHED) != 0)
		return -EINVAL;
	if (is_circle(t, me))
		return -EDEADLK;
	if (joiner != 0)
		return -EINVAL;
	/* JOIN-1: under the bucket's lock */
	wf_store_relaxed(&t->joiner, me->index);
	return (int)state;
}

/*
 * If t has not run yet, claims it for the caller, which gives t its VP at once.
 * Returns NULL if t has run or may not run at once.
 */
WF_INLINE struct wf_thread *claim(struct wf_thread *t, struct wf_thread *me)
{
	struct wf_vp *vp = me->vp;

	if (wf_load_relaxed(&t->not_started) == 0 ||
	    /* the VP has other work to do first */
	    wf_load_relaxed(&vp->pending) != 0 ||
	    !wf_thread_claim(t, t->generation))
		return NULL;
	/* With several VPs the entry stays, and the next pick drops it. */
	if (wf_sched.nr_vps == 1)
		wf_runq_remove_last_alone(&vp->interactive, t->index);
	wf_count_own(&vp->counters, claims);
	wf_start_prepare(t, &vp->pool);
	return t;
}

/*
 * Ends the wait with err: a time-out or a cancellation. If t has ended
 * meanwhile, the join succeeds, unless even_if_done.
 */
static int give_up(struct wf_thread *t, struct wf_thread *me, int err,
		   bool even_if_done)
{
	struct wf_bucket *b = wf_bucket_of(&t->exit_state);
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);

	if (is_done(t) && !even_if_done)
		err = 0;
	else
		wf_store_relaxed(&t->joiner, 0);
	wf_bucket_unlock(me, b, hold);
	return err;
}

/*
 * Cleanup of a joiner that leaves its wait: it is the joiner no longer. JOIN-3
 */
static void leave_wait(void *thread)
{
	struct wf_thread *me = wf_runtime_enter();

	give_up(thread, me, 0, true);
	wf_runtime_leave(me);
}

/*
 * Waits for t's end, after a first wait that was interrupted, or as the first
 * wait. In the runtime.
 */
static int wait_on(struct wf_thread *t, struct wf_thread *me,
		   int64_t deadline_ns, int result)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int err;

	wf_cleanup_begin(&cleanup, leave_wait, t);
	wf_runtime_leave(me);
	err = wf_ufutex_result(me, result);
	while (!is_done(t) && err != -ETIMEDOUT && err != -ECANCELED)
		err = wf_ufutex_wait(WF_WAIT_JOIN, &t->exit_state,
				     WF_EXIT_JOINABLE, WF_UFUTEX_ANY,
				     deadline_ns);
	wf_runtime_enter();
	wf_cleanup_end(&cleanup);
	return is_done(t) ? 0 : give_up(t, me, err, false);
}

/*
 * Prefetches the state of the thread that was created after t, while t runs. A
 * program often joins threads in the order of their creation. With many
 * threads, cache misses are most of the cost of starting one.
 */
static void prefetch_next(const struct wf_thread *t)
{
	const struct wf_thread *next;

	/* With few threads the state is in the cache. */
	if (WF_LIKELY(!wf_ready_is_of_many(t)))
		return;
	next = wf_table_at(t->next_sibling);
	if (next == t || wf_load_relaxed(&next->not_started) == 0)
		return;
	wf_tcb_prefetch(next->slot.tcb);
}

/*
 * Joins t. Returns 0 if t is done, and then the caller frees it; else -Exxx. In
 * the runtime before and after.
 */
WF_INLINE int join_in(struct wf_thread *t, struct wf_thread *me,
		      int64_t deadline_ns)
{
	struct wf_thread *joined = wf_apart(t), *joiner = wf_apart(me);
	struct wf_bucket *b = wf_bucket_of(&joined->exit_state);
	struct wf_wait w = { .addr = &joined->exit_state,
			     .is_compared = true, /* by begin_locked() */
			     .bits = WF_UFUTEX_ANY,
			     .kind = WF_WAIT_JOIN,
			     .deadline_ns = deadline_ns };
	struct wf_bucket_hold hold = wf_bucket_lock_to_wait(joiner, b);
	int state = begin_locked(joined, joiner), result = -ERESTART;

	if (state == WF_EXIT_JOINABLE &&
	    joiner->kind == WF_THREAD_MULTIPLEXED) {
		joiner->interrupted = false;
		joiner->wait_was_moved = false;
		w.next = claim(joined, joiner);
		prefetch_next(joined);
		result = wf_ufutex_wait_locked(joiner, b, hold, &w);
	} else {
		wf_store_relaxed(&joiner->wait_bucket, NULL);
		wf_bucket_unlock(joiner, b, hold);
	}
	if (WF_UNLIKELY(state < 0))
		return state;
	if (WF_LIKELY(is_done(t)))
		return 0;
	return wait_on(t, me, deadline_ns, result);
}

WF_INLINE int finish_join(struct wf_thread *t, struct wf_thread *me, int err,
			  void **ret_result)
{
	void *result = t->result;

	if (err == 0)
		wf_table_put(wf_pool_of(me), t);
	wf_runtime_leave(me);
	if (err == 0 && ret_result != NULL)
		*ret_result = result;
	wf_reap_consider();
	return err;
}

WF_LINK_INLINE int wf_thread_join(struct wf_thread *self, struct wf_thread *t,
				  void **ret_result, int64_t deadline_ns)
{
	struct wf_thread *me = wf_apart(self);

	wf_runtime_enter_as(me);
	return finish_join(t, me, join_in(t, me, deadline_ns), ret_result);
}

int wf_thread_tryjoin(struct wf_thread *t, void **ret_result)
{
	struct wf_bucket *b = wf_bucket_of(&t->exit_state);
	struct wf_bucket_hold hold;
	struct wf_thread *me;
	int state;

	if (!is_done(t))
		return -EBUSY;
	me = wf_runtime_enter();
	hold = wf_bucket_lock(me, b);
	state = begin_locked(t, me);
	wf_bucket_unlock(me, b, hold);
	return finish_join(t, me, state < 0 ? state : 0, ret_result);
}

int wf_thread_detach(struct wf_thread *t)
{
	struct wf_bucket *b = wf_bucket_of(&t->exit_state);
	struct wf_thread *me = wf_runtime_enter();
	struct wf_bucket_hold hold = wf_bucket_lock(me, b);
	uint32_t old;
	int err = 0;

	old = wf_load_relaxed(&t->exit_state);
	if (is_gone(t))
		err = -ESRCH;
	else if ((old & WF_EXIT_DETACHED) != 0)
		err = -EINVAL;
	/* A thread with a joiner stays joinable, as with glibc. */
	else if (wf_load_relaxed(&t->joiner) == 0)
		wf_store_relaxed(&t->exit_state, old | WF_EXIT_DETACHED);
	wf_bucket_unlock(me, b, hold);
	if (err == 0 && (old & WF_EXIT_DONE) != 0)
		/* JOIN-2: this has set the second of the two bits */
		wf_table_put(wf_pool_of(me), t);
	wf_runtime_leave(me);
	return err;
}
