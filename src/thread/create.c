/* SPDX-License-Identifier: MIT */
/*
 * Creates threads. A new thread gets a slot from the pool of the creator's VP.
 * If the slot still has the state that its last thread left, only the fields
 * are set. Otherwise its TCB and stack are prepared, outside the runtime, since
 * that takes ld.so's locks and calls malloc. The thread enters a run queue as
 * not yet started, so a joiner can claim it. A bound thread gets a carrier and
 * starts there.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "arch/arch.h"
#include "base/upcall.h"
#include "libc/layout.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "sched/carrier.h"
#include "sched/cpu_time.h"
#include "sched/entry.h"
#include "sched/monitor_time.h"
#include "sched/registers.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/start.h"
#include "signal/deliver.h"
#include "signal/signal.h"
#include "thread/thread_count.h"
#include "thread/lifecycle.h"
#include "thread/policy.h"

WF_LINK_INLINE struct wf_thread *wf_thread_of(pthread_t handle)
{
	struct wf_thread *t;

	if (WF_UNLIKELY(handle == 0))
		return NULL;
	if (WF_UNLIKELY(wf_libc.self_offset == 0))
		wf_upcall.boot();
	t = *(struct wf_thread **)(handle + wf_libc.self_offset);
	return WF_LIKELY(!wf_thread_is_vfork_child(t)) ?
		       t :
		       wf_vfork_child_parent(handle);
}

struct wf_thread *wf_thread_of_id(int32_t id)
{
	struct wf_thread *t = NULL;

	if (wf_is_started())
		t = id == 0 ? wf_self : wf_table_by_tid(id);
	return wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN ? t : NULL;
}

/*
 * Prepares the slot's stack and TCB for this thread. May take ld.so's locks and
 * call malloc.
 */
static int prepare_slot(struct wf_thread *t,
			const struct wf_thread_params *params)
{
	struct wf_slot *s = &t->slot;
	int err;

	if (params->user_stack != NULL)
		wf_slot_use_stack(s, params->user_stack,
				  params->user_stack_bytes);
	else if (s->has_user_stack)
		wf_slot_own_stack(s);
	t->is_dirty = true;
	if (s->link_epoch != wf_table_fork_epoch()) {
		struct wf_thread *me = wf_runtime_enter();

		wf_tcb_link(s->tcb);
		wf_runtime_leave(me);
		s->link_epoch = wf_table_fork_epoch();
		/*
		 * While ld.so did not know this TCB it may have changed TLS
		 * blocks. So the blocks are renewed if a thread has used them.
		 */
		s->is_used = s->is_prepared;
		s->is_fresh = false;
	}
	if (!s->is_prepared) {
		err = wf_tcb_prepare(s->tcb, t->tid, wf_slot_block_low(s),
				     wf_slot_block_bytes(s), t);
		if (err < 0)
			return err;
		s->is_prepared = true;
		s->is_fresh = true;
	}
	return 0;
}

/*
 * True if the slot is as its last thread left it, and has the stack that this
 * thread needs.
 */
static bool is_slot_ready(const struct wf_thread *t,
			  const struct wf_thread_params *params)
{
	const struct wf_slot *s = &t->slot;

	return s->is_prepared && !s->has_user_stack &&
	       params->user_stack == NULL &&
	       s->link_epoch == wf_table_fork_epoch();
}

/*
 * Sets to 0 the fields that a new thread has as 0: the last thread of the slot
 * may have left any value there. Each call is one store.
 */
static void clear_fields(struct wf_thread *t)
{
	WF_THREAD_CLEAR(t, vp, ctx);
	WF_THREAD_CLEAR(t, wait_addr, wait_bits);
	WF_THREAD_CLEAR_4(t, is_cancelled, wait_result);
	WF_THREAD_CLEAR(t, timer_index, not_started);
	WF_THREAD_CLEAR(t, sigwait_set, generation);
	t->hint = 0;
	t->altstack = (struct wf_altstack){ .flags = SS_DISABLE };
}

/*
 * Copies the creator's registers that a new thread inherits, and sets the new
 * thread's CPU time to 0.
 */
static void inherit_registers(struct wf_thread *t)
{
	t->fp_control = wf_cpu_fp_control();
	if (WF_LIKELY(!wf_registers_are_used()))
		return; /* then no CPU time is counted either */
	wf_registers_save(t);
	wf_cpu_time_begin(t);
}

static void init_mask(struct wf_thread *t, const struct wf_thread *creator,
		      const struct wf_thread_params *params)
{
	if (WF_UNLIKELY(params->has_sigmask))
		t->sigmask = params->sigmask & ~WF_SIGNAL_UNBLOCKABLE;
	else if (WF_LIKELY(creator->carrier != NULL))
		t->sigmask = creator->sigmask;
	else
		t->sigmask = wf_os_get_signal_mask();
}

static void init_policy(struct wf_thread *t, const struct wf_thread *creator,
			const struct wf_thread_params *params)
{
	wf_policy_inherit(t, creator);
	if (WF_UNLIKELY(params->has_policy)) {
		t->made_with_policy = true;
		t->sched_policy = (uint8_t)params->policy & 15;
		t->sched_priority = params->priority;
		t->libc_knows_policy = true;
	}
	t->rt_priority = (uint8_t)t->sched_priority;
}

WF_INLINE void init_fields(struct wf_thread *t, const struct wf_thread *creator,
			   const struct wf_thread_params *params)
{
	clear_fields(t);
	wf_store_relaxed(&t->in_runtime, 1);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_store_relaxed(&t->exit_work, 0);
	t->kind = params->is_bound ? WF_THREAD_BOUND : WF_THREAD_MULTIPLEXED;
	t->cpu_bound = 0;
	t->from_batch = false;
	wf_store_relaxed(&t->slot.keeps_stack, false);
	wf_store_relaxed(&t->kernel_word, 1);
	t->stack_slack = params->stack_slack;
	if (WF_UNLIKELY(t->slot.class != params->class))
		t->stack_slack = wf_slot_slack_in(t->slot.class, params->class,
						  params->stack_slack);
	wf_store_relaxed(&t->exit_state, params->is_detached ?
						 WF_EXIT_DETACHED :
						 WF_EXIT_JOINABLE);
	/*
	 * The result of a cancelled thread: libc's unwinding does not set it.
	 */
	t->result = PTHREAD_CANCELED;
	memcpy(t->name, creator->name, sizeof(t->name));
	inherit_registers(t);
	init_mask(t, creator, params);
	init_policy(t, creator, params);
	/* CPU_TIME-4: the time of creation */
	t->handoff_ms = wf_monitor_time();
	wf_signal_thread_init(t);
}

/* Counts a new thread. vp is the creator's VP, or NULL. In the runtime. */
static void count_made(struct wf_vp *vp)
{
	if (WF_LIKELY(vp != NULL))
		wf_count_own(&vp->counters, made);
	else
		wf_count(made);
}

/* Starts t on a carrier of its own. In the runtime. */
static WF_COLD int start_bound(struct wf_thread *me, struct wf_thread *t,
			       const struct wf_thread_params *params)
{
	int err;

	wf_count(bound);
	wf_start_prepare(t, NULL);
	t->has_affinity = params->has_affinity;
	err = wf_carrier_start_bound(
		t, params->has_affinity ? &params->affinity : NULL);
	if (err < 0) {
		wf_signal_thread_end(me, t);
		wf_thread_count_undo(me);
		wf_table_put(wf_pool_of(me), t);
	}
	return err;
}

/*
 * Starts t as a real-time thread: claims it first (REALTIME-4 in
 * sched/realtime.c). In the runtime.
 */
static WF_COLD void start_realtime(struct wf_thread *me, struct wf_thread *t)
{
	wf_start_prepare(t, NULL);
	wf_ready_woken(me, t);
}

/*
 * Links t to the thread that this VP created before: a program often joins
 * threads in the order of their creation, and join.c prefetches the next one.
 */
static void note_sibling(struct wf_vp *vp, struct wf_thread *t)
{
	if (WF_LIKELY(!wf_ready_is_of_many(t)))
		return;
	wf_table_at(vp->last_created)->next_sibling = t->index;
	vp->last_created = t->index;
}

static void queue(struct wf_vp *vp, struct wf_thread *t)
{
	/* release: publishes all fields of t; pairs with the acquire of its
	 * claim */
	wf_store_release(&t->not_started, (t->generation & WF_GENERATION_MASK) |
						  WF_NOT_STARTED_BIT);
	if (WF_UNLIKELY(vp == NULL)) {
		wf_queue_put_remote(NULL, t, WF_READY_NEW);
		return;
	}
	note_sibling(vp, t);
	wf_queue_put_new(vp, t);
}

/* Prepares t's slot outside of the runtime. Returns NULL if that fails. */
static WF_NOINLINE struct wf_thread *
prepare_outside(struct wf_thread *me, struct wf_thread *t,
		const struct wf_thread_params *params)
{
	int err;

	wf_runtime_leave(me);
	err = prepare_slot(t, params);
	wf_runtime_enter();
	if (err == 0)
		return t;
	wf_table_put(wf_pool_of(me), t);
	return NULL;
}

/*
 * Returns a thread with its memory, or NULL. In the runtime before and after.
 */
static struct wf_thread *get_thread(struct wf_thread *me,
				    const struct wf_thread_params *params)
{
	struct wf_thread *t = wf_table_get(wf_pool_of(me), params->class);

	if (WF_UNLIKELY(t == NULL))
		return NULL;
	t->tid = wf_table_tid(t);
	if (WF_LIKELY(is_slot_ready(t, params)))
		return t;
	return prepare_outside(me, t, params);
}

WF_LINK_INLINE int wf_thread_create(const struct wf_thread_params *params,
				    void *(*start)(void *), void *arg,
				    pthread_t *ret_handle)
{
	struct wf_thread *me, *t;
	struct wf_vp *vp;
	int err = 0;

	if (WF_UNLIKELY(params->class == NULL))
		return -EAGAIN;
	/* Touches the page here, where a page fault is cheap: at worst the VP
	 * is handed off. In the runtime it would hold up other threads. */
	*(volatile pthread_t *)ret_handle = *ret_handle;
	me = wf_runtime_enter();
	t = get_thread(me, params);
	if (WF_UNLIKELY(t == NULL)) {
		wf_runtime_leave(me);
		return -EAGAIN;
	}
	vp = wf_vp_of(me);
	init_fields(t, me, params);
	if (WF_UNLIKELY(params->has_sigmask))
		/* MASK-2 in signal/mask.c: fence, then check the queues */
		wf_fence_seq_cst();
	if (WF_UNLIKELY(wf_carrier_is_altered(me)))
		t->kind = WF_THREAD_BOUND;
	t->start_routine = start;
	t->start_arg = arg;
	wf_thread_count_created(vp);
	count_made(vp);
	*ret_handle = t->slot.tcb;
	if (WF_UNLIKELY(t->kind == WF_THREAD_BOUND))
		err = start_bound(me, t, params);
	else if (WF_UNLIKELY(t->rt_priority != 0))
		start_realtime(me, t);
	else
		queue(vp, t);
	wf_runtime_leave(me);
	return err;
}
