#include <errno.h>
#include <signal.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "libc/layout.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "sched/carrier.h"
#include "sched/entry.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/start.h"
#include "signal/signal.h"
#include "thread/lifecycle.h"

struct wf_thread *wf_thread_of(pthread_t handle)
{
	if (WF_UNLIKELY(wf_libc.self_offset == 0))
		wf_runtime_boot();
	return *(struct wf_thread **)(handle + wf_libc.self_offset);
}

/* The slot's memory as this thread needs it; ld.so's locks, malloc. */
static int prepare_slot(struct wf_thread *t,
			const struct wf_thread_params *params)
{
	struct wf_slot *s = &t->slot;
	int err;

	if (params->user_stack != NULL)
		wf_slot_use_stack(s, params->user_stack, params->stack_bytes);
	else if (s->has_user_stack)
		wf_slot_own_stack(s);
	if (s->link_epoch != wf_table_fork_epoch()) {
		struct wf_thread *me = wf_runtime_enter();

		wf_tcb_link(s->tcb);
		wf_runtime_leave(me);
		s->link_epoch = wf_table_fork_epoch();
		/* ld.so may have missed it meanwhile: renew before use. */
		s->is_used = s->is_prepared;
		s->is_fresh = false;
	}
	if (!s->is_prepared) {
		err = wf_tcb_prepare(s->tcb, t->tid,
				     s->stack_low - s->guard_bytes,
				     s->stack_bytes + s->guard_bytes, t);
		if (err < 0)
			return err;
		s->is_prepared = true;
		s->is_fresh = true;
	}
	return 0;
}

static void init_fields(struct wf_thread *t, const struct wf_thread *creator,
			const struct wf_thread_params *params)
{
	wf_store_relaxed(&t->in_runtime, 1);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_store_relaxed(&t->exit_work, 0);
	t->kind = params->is_bound ? WF_THREAD_BOUND : WF_THREAD_MULTIPLEXED;
	t->fp_control = wf_cpu_fp_control();
	t->hog = false;
	t->from_b = false;
	t->is_first = false;
	t->vp = NULL;
	t->carrier = NULL;
	t->sigmask = creator->carrier != NULL ? creator->sigmask :
						wf_os_get_signal_mask();
	wf_list_init(&t->wait_link);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->wait_bucket, NULL);
	t->timer_index = 0;
	t->timer_vp = NULL;
	wf_store_relaxed(&t->exit_state, params->is_detached ?
						 WF_EXIT_DETACHED :
						 WF_EXIT_JOINABLE);
	wf_store_relaxed(&t->joiner, NULL);
	/* What a cancelled thread returns: libc's unwinding says nothing. */
	t->result = PTHREAD_CANCELED;
	memcpy(t->name, creator->name, sizeof(t->name));
	t->altstack.flags = SS_DISABLE;
	t->altstack.sp = NULL;
	t->altstack.size = 0;
	wf_signal_thread_init(t);
	t->nr_rescued = 0;
	t->nr_preempted = 0;
	t->has_affinity = false;
	t->sched_policy = creator->sched_policy;
	t->sched_priority = creator->sched_priority;
}

static int start_bound(struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();
	int err;

	wf_start_prepare(t);
	err = wf_carrier_start_bound(t);
	wf_runtime_leave(me);
	if (err < 0) {
		atomic_fetch_sub(&wf_sched.nr_threads, 1);
		wf_table_put(t);
	}
	return err;
}

int wf_thread_create(const struct wf_thread_params *params,
		     void *(*start)(void *), void *arg, pthread_t *ret_handle)
{
	struct wf_thread *me = wf_thread_self();
	bool own_stack = params->user_stack == NULL;
	struct wf_slot_class *class =
		wf_slot_class_get(own_stack ? params->stack_bytes : 0,
				  own_stack ? params->guard_bytes : 0);
	struct wf_thread *t;

	if (class == NULL)
		return -EAGAIN;
	me = wf_runtime_enter();
	t = wf_table_get(class);
	wf_runtime_leave(me);
	if (t == NULL)
		return -EAGAIN;
	t->tid = wf_table_new_tid();
	if (prepare_slot(t, params) < 0) {
		wf_table_put(t);
		return -EAGAIN;
	}
	init_fields(t, me, params);
	t->start_routine = start;
	t->start_arg = arg;
	atomic_fetch_add(&wf_sched.nr_threads, 1);
	*ret_handle = t->slot.tcb;
	if (params->is_bound)
		return start_bound(t);
	/* release: all fields; pairs with the acquire of the claim. */
	wf_store_release(&t->unstarted, (t->generation & WF_GENERATION_MASK) |
						WF_UNSTARTED_BIT);
	me = wf_runtime_enter();
	wf_ready_new(me, t);
	wf_runtime_leave(me);
	return 0;
}
