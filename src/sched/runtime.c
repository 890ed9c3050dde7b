/* SPDX-License-Identifier: MIT */
/*
 * The slow paths of entering and leaving the runtime. A kernel thread's first
 * call attaches it: it gets a struct wf_thread as a foreign thread. An entry
 * that finds the VP taken queues for another VP, or binds the thread. An exit
 * with work switches, binds, or delivers signals, until no work is left.
 */
#include "sched/runtime.h"

#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "base/upcall.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/queue.h"
#include "sched/switch.h"
#include "sched/table.h"

static struct wf_thread *attach(void)
{
	struct wf_thread *t = wf_table_get(NULL, NULL);

	WF_CHECK(t != NULL, "too many threads");
	t->kind = WF_THREAD_FOREIGN;
	t->tid = wf_os_gettid();
	t->vp = NULL;
	t->carrier = NULL;
	t->ctx.tp = wf_cpu_thread_register();
	t->slot.tcb = t->ctx.tp;
	wf_store_relaxed(&t->in_runtime, 0);
	wf_store_relaxed(&t->exit_work, 0);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_store_relaxed(&t->exit_state, WF_EXIT_JOINABLE);
	wf_store_relaxed(&t->joiner, 0);
	t->is_first = false;
	t->cpu_bound = 0;
	t->sigmask = 0;
	t->altstack.sp = NULL;
	t->altstack.size = 0;
	t->altstack.flags = SS_DISABLE;
	t->nr_handoffs = 0;
	wf_store_relaxed(&t->sigqueue.is_closed, false);
	t->holds_signals = false;
	t->at_cancel_point = false;
	wf_store_relaxed(&t->is_cancelled, false);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->kernel_word, 1);
	wf_store_relaxed(&t->wait_bucket, NULL);
	wf_self = t;
	wf_count(attaches);
	return t;
}

struct wf_thread *wf_runtime_attach_first(void)
{
	struct wf_thread *t = attach();

	t->is_first = true;
	return t;
}

struct wf_thread *wf_runtime_attach(void)
{
	if (WF_UNLIKELY(wf_table == NULL))
		/* boots weft, which attaches the first thread */
		wf_upcall.boot();
	else
		wf_upcall.foreign_met(attach());
	return wf_self;
}

static void requeue_reacquiring(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;

	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_queue_put_remote(NULL, t, WF_READY_REACQUIRING);
}

wf_post_fn *wf_runtime_reacquire_begin(struct wf_thread *t)
{
	struct wf_carrier *c = t->carrier;

	wf_count(reacquires);
	t->vp = NULL;
	wf_store_relaxed(&c->vp, NULL);
	return requeue_reacquiring;
}

bool wf_runtime_keep_vp(struct wf_thread *t)
{
	/* Each round loads retake once. Between two loads the monitor may give
	 * up and ask again, and the VP would have no owner. */
	for (;;) {
		uint32_t retake = wf_load_acquire(&t->retake);

		if (retake != WF_RETAKE_ASK)
			return retake == WF_RETAKE_NONE;
		/* retake: ASK -> NONE [wf_runtime_keep_vp]. Then the CAS by
		 * which the monitor takes the VP fails. */
		if (wf_cas_acq_rel(&t->retake, &retake, WF_RETAKE_NONE))
			return true;
	}
}

void wf_runtime_reacquire_slow(struct wf_thread *t)
{
	if (wf_runtime_keep_vp(t))
		return;
	WF_CHECK(t->kind == WF_THREAD_MULTIPLEXED,
		 "a VP was taken from a thread that has none");
	if (wf_carrier_bind_without_vp(t))
		return;
	wf_switch_to_carrier(t, wf_runtime_reacquire_begin(t), t);
}

/* Clears a bit of t->exit_work; returns true if it was set. */
static bool take_work(struct wf_thread *t, uint32_t bit)
{
	if ((wf_load_relaxed(&t->exit_work) & bit) == 0)
		return false;
	return (atomic_fetch_and(&t->exit_work, ~bit) & bit) != 0;
}

void wf_runtime_leave_slow(struct wf_thread *t)
{
	while (wf_load_relaxed(&t->exit_work) != 0) {
		wf_runtime_enter();
		if (take_work(t, WF_WORK_BIND))
			wf_carrier_bind(t, WF_BOUND_KERNEL_STATE);
		if (take_work(t, WF_WORK_RESCHED) && t->vp != NULL &&
		    t->kind == WF_THREAD_MULTIPLEXED) {
			enum wf_resched why = wf_vp_asked(t->vp);

			if (why != WF_RESCHED_NONE &&
			    wf_switch_yield(t, why) != NULL)
				wf_count(preemptions_cooperative);
		}
		if (take_work(t, WF_WORK_SIGNAL | WF_WORK_CANCEL))
			wf_upcall.signal_work(t);
		wf_store_release(&t->in_runtime, 0);
		wf_compiler_barrier();
	}
}
