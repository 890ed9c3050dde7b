/*
 * Joiners wait on t->exit_state. The bit JOINER is set before the wait, so
 * that a thread that nobody waits for ends without a look at the waiters.
 */
#include <errno.h>

#include "sched/entry.h"
#include "sched/runtime.h"
#include "sched/start.h"
#include "thread/lifecycle.h"
#include "wait/ufutex.h"
#include "wait/ufutex_internal.h"

static int take_result(struct wf_thread *t, void **ret_result)
{
	struct wf_thread *me;

	if (ret_result != NULL)
		*ret_result = t->result;
	me = wf_runtime_enter();
	wf_table_put(t);
	wf_runtime_leave(me);
	return 0;
}

static bool is_done(struct wf_thread *t)
{
	/* acquire: pairs with announce_done. */
	return (wf_load_acquire(&t->exit_state) & WF_EXIT_DONE) != 0;
}

/* Registers the caller as the one joiner. */
static int begin_join(struct wf_thread *t)
{
	struct wf_thread *me = wf_thread_self();
	struct wf_thread *nobody = NULL;

	if (t == me || wf_load_relaxed(&me->joiner) == t)
		return -EDEADLK;
	if ((wf_load_relaxed(&t->exit_state) & WF_EXIT_DETACHED) != 0)
		return -EINVAL;
	if (!wf_cas_acq_rel(&t->joiner, &nobody, me))
		return -EINVAL;
	return 0;
}

/*
 * If t has not run yet, the caller takes it out of the queues and gives it
 * the VP at once.
 */
static struct wf_thread *claim(struct wf_thread *t)
{
	if (wf_load_relaxed(&t->unstarted) == 0 ||
	    !wf_thread_claim(t, t->generation))
		return NULL;
	wf_count(claims);
	wf_start_prepare(t);
	return t;
}

static int wait_done(struct wf_thread *t, int64_t deadline_ns)
{
	struct wf_thread *next = NULL;
	uint32_t state = atomic_fetch_or(&t->exit_state, WF_EXIT_JOINER) |
			 WF_EXIT_JOINER;

	if (wf_self->kind == WF_THREAD_MULTIPLEXED)
		next = claim(t);
	while (!is_done(t)) {
		int err = wf_ufutex_wait_and_run(&t->exit_state, state,
						 deadline_ns, next);

		next = NULL;
		if (err == -ETIMEDOUT || err == -ECANCELED)
			return err;
	}
	return 0;
}

int wf_thread_join(struct wf_thread *t, void **ret_result, int64_t deadline_ns)
{
	int err = begin_join(t);

	if (err < 0)
		return err;
	err = is_done(t) ? 0 : wait_done(t, deadline_ns);
	/* A time-out that met the end of the thread is no time-out. */
	if (err < 0 && !is_done(t)) {
		wf_store_release(&t->joiner, NULL);
		return err;
	}
	return take_result(t, ret_result);
}

int wf_thread_tryjoin(struct wf_thread *t, void **ret_result)
{
	int err;

	if (!is_done(t))
		return t == wf_thread_self() ? -EDEADLK : -EBUSY;
	err = begin_join(t);
	return err < 0 ? err : take_result(t, ret_result);
}

int wf_thread_detach(struct wf_thread *t)
{
	uint32_t old;

	if (wf_load_relaxed(&t->joiner) != NULL)
		return -EINVAL;
	old = atomic_fetch_or(&t->exit_state, WF_EXIT_DETACHED);
	if ((old & WF_EXIT_DETACHED) != 0)
		return -EINVAL;
	if ((old & WF_EXIT_DONE) != 0) {
		struct wf_thread *me = wf_runtime_enter();

		wf_table_put(t);
		wf_runtime_leave(me);
	}
	return 0;
}
