/* SPDX-License-Identifier: MIT */
/*
 * Connects the signal layer to the runtime. It takes the program's signals over
 * from the kernel when the runtime starts. It gives them back before exec, in a
 * fork child, and when the runtime ends. It also opens and closes the signal
 * queue of each thread, at the thread's beginning and end.
 */
#include "signal/signal.h"

#include <string.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/action.h"
#include "signal/signal_entry.h"
#include "signal/cancel.h"
#include "signal/deliver.h"
#include "signal/dump_signal.h"
#include "signal/foreign.h"
#include "signal/mask.h"
#include "signal/queue.h"
#include "signal/signal_receiver.h"
#include "signal/routing.h"
#include "signal/signalfd.h"
#include "signal/posix_timer.h"
#include "wait/agent.h"
#include "wait/ufutex_internal.h"

/*
 * True if a cancellation has to end t's wait. At a cancellation point the
 * wait's result then ends the thread, elsewhere the runtime's exit (CANCEL-2).
 */
static bool is_cancelled(const struct wf_thread *t)
{
	return wf_load_relaxed(&t->is_cancelled) &&
	       (wf_cancel_is_due(t) || wf_cancel_is_here(t, 0));
}

bool wf_signal_interrupts_wait(struct wf_thread *t)
{
	const struct wf_carrier *c = t->carrier;

	return wf_deliver_is_due(t) || wf_signalfd_is_due(t) ||
	       is_cancelled(t) ||
	       (c != NULL ? !t->holds_signals &&
				    wf_load_relaxed(&c->signal_slot.nr) != 0 :
			    wf_foreign_is_due(t));
}

void wf_signal_drain_idle(struct wf_carrier *c)
{
	c->idle_self.vp = wf_load_relaxed(&c->vp);
	wf_signal_entry_drain(c, NULL);
}

void wf_signal_save_altstack(struct wf_thread *t)
{
	stack_t ss = { .ss_flags = SS_DISABLE };

	wf_sys(SYS_sigaltstack, NULL, &ss);
	t->altstack.sp = ss.ss_sp;
	t->altstack.size = ss.ss_size;
	t->altstack.flags = ss.ss_flags & ~SS_ONSTACK;
}

int wf_signal_start(void)
{
	int err = wf_sigqueue_start();

	if (err == 0)
		err = wf_signal_receiver_start();
	return err == 0 ? wf_dump_signal_start() : err;
}

void wf_signal_convert(uint64_t mask)
{
	wf_actions_start();
	if (wf_self->is_first)
		wf_store_relaxed(&wf_routing_first_mask, mask);
	wf_signal_receiver_want(~mask);
}

/*
 * All signals are blocked. sigtimedwait takes signals of the thread before
 * those of the process. It may also take weft's own signal, since the monitor
 * runs already and may have sent it.
 */
void wf_signal_adopt_pending(struct wf_thread *t)
{
	const struct timespec now = { 0, 0 };
	uint64_t any = 0, bit;
	siginfo_t info;

	wf_sys(SYS_rt_sigpending, &any, 8);
	while ((any & ~WF_PREEMPT_BIT) != 0) {
		any = wf_os_pending_of_thread() & ~WF_PREEMPT_BIT;
		if (any == 0)
			return;
		bit = any & -any;
		if (wf_sys(SYS_rt_sigtimedwait, &bit, &info, &now, 8) <= 0)
			return;
		wf_sigqueue_put(&t->sigqueue, &info, false);
	}
}

void wf_signal_fork_prepare(void)
{
	struct wf_carrier *c = wf_self != NULL ? wf_self->carrier : NULL;

	/* In a child: it has the parent's handlers and no carriers yet. */
	if (c == NULL)
		return;
	c->kernel_mask = WF_MASK_UNKNOWN;
	wf_os_set_signal_mask(UINT64_MAX);
	wf_store_relaxed(&c->is_kicked, false);
	wf_store_relaxed(&c->is_forking, true);
	/* open during fork: preempt.c, PREEMPT-6 */
	wf_os_set_signal_mask(~WF_PREEMPT_BIT);
}

void wf_signal_fork_parent(void)
{
	struct wf_thread *t = wf_self;
	struct wf_carrier *c = t != NULL ? t->carrier : NULL;
	bool is_kicked;

	if (c == NULL)
		return;
	/* Blocks all signals: from here on no handler can move the thread or
	 * fill the slot. */
	wf_os_set_signal_mask(UINT64_MAX);
	wf_store_relaxed(&c->is_forking, false);
	is_kicked = wf_load_relaxed(&c->is_kicked);
	c->kernel_mask = WF_MASK_UNKNOWN;
	wf_runtime_enter();
	wf_carrier_set_mask(t->carrier, t->sigmask);
	wf_runtime_leave(t);
	if (is_kicked)
		wf_deliver_kick_self();
}

void wf_signal_restore(const struct wf_thread *t)
{
	stack_t altstack = { .ss_flags = SS_DISABLE };

	if (t->altstack.size != 0)
		altstack = (stack_t){ t->altstack.sp, t->altstack.flags,
				      t->altstack.size };
	wf_sys(SYS_sigaltstack, &altstack, NULL);
	wf_os_set_signal_mask(t->sigmask);
}

/*
 * Ends the waits for signals that t was in, in a fork child: the parent may
 * have forked in a handler that interrupted them.
 */
static void reset_waits(struct wf_thread *t)
{
	wf_store_relaxed(&t->sigwait_set, 0);
	wf_store_relaxed(&t->signal_word, 0);
	t->is_suspended = false;
	t->takes_signal = false;
	t->interrupted = false;
	t->at_cancel_point = false;
	wf_store_relaxed(&t->is_cancelled, false);
}

void wf_signal_fork_child(struct wf_thread *t, bool has_own_actions)
{
	wf_sigqueue_fork_child();
	if (t != NULL) {
		/* The pending signals belong to the parent. */
		memset(&t->sigqueue, 0, sizeof(t->sigqueue));
		reset_waits(t);
		wf_signal_thread_init(t);
		t->holds_signals = false;
	}
	wf_signal_receiver_fork_child();
	wf_dump_signal_fork_child();
	wf_routing_fork_child();
	wf_posix_timer_fork_child();
	wf_foreign_fork_child();
	wf_actions_fork_child(has_own_actions);
}

static uint64_t give_to_kernel(struct wf_sigqueue *q)
{
	uint64_t given = 0;
	siginfo_t info;

	while (wf_sigqueue_take(q, UINT64_MAX, &info)) {
		wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(),
		       info.si_signo, &info);
		given |= WF_SIGNAL_BIT(info.si_signo);
	}
	return given;
}

static void give_to_process(struct wf_sigqueue *q)
{
	siginfo_t info;

	while (wf_sigqueue_take_process(q, UINT64_MAX, &info))
		wf_sys(SYS_rt_sigqueueinfo, wf_os_getpid(), info.si_signo,
		       &info);
}

void wf_signal_stop(struct wf_thread *t)
{
	wf_signal_entry_drain(t->carrier, t);
	give_to_process(&t->sigqueue);
	give_to_kernel(&t->sigqueue);
	give_to_process(&wf_routing_process);
	wf_signal_receiver_fork_child();
	wf_routing_fork_child();
	wf_foreign_fork_child();
	wf_actions_fork_child(false);
}

void wf_signal_exec_begin(struct wf_thread *t)
{
	uint64_t mask;

	if (t->carrier == NULL ||
	    (wf_sigqueue_pending(&t->sigqueue) |
	     wf_sigqueue_pending(&wf_routing_process)) == 0)
		return;
	mask = wf_os_close_signals();
	if (t->is_replacing)
		t->given |= give_to_kernel(&t->sigqueue) |
			    give_to_kernel(&wf_routing_process);
	wf_os_set_signal_mask(mask);
}

/*
 * Takes the signals back at once. Later the thread may run on another carrier,
 * and another thread of this carrier would get them.
 */
void wf_signal_exec_failed(struct wf_thread *t)
{
	const struct timespec now = { 0, 0 };
	siginfo_t info;

	while (t->given != 0 &&
	       wf_sys(SYS_rt_sigtimedwait, &t->given, &info, &now, 8) > 0)
		wf_sigqueue_put(&t->sigqueue, &info, info.si_code != SI_TKILL);
	t->given = 0;
}

void wf_signal_exec_over(struct wf_thread *t)
{
	wf_runtime_enter();
	if (wf_deliver_is_due(t))
		atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
	wf_runtime_leave(t);
}

/* Empties t's queue: no thread will take the signals in it. */
static WF_NOINLINE void empty(struct wf_thread *me, struct wf_thread *t)
{
	siginfo_t info;

	while (wf_sigqueue_take_process(&t->sigqueue, UINT64_MAX, &info))
		wf_routing_to_process(me, &info, NULL);
	wf_sigqueue_clear(&t->sigqueue, UINT64_MAX);
}

/*
 * Does not touch the queue's lock and list. A sender that found the slot's last
 * thread may hold the lock just now, or have put a signal since (ROUTING-5 in
 * routing.c).
 */
WF_LINK_INLINE void wf_signal_thread_init(struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_sigqueue_pending(&t->sigqueue) != 0))
		empty(wf_self, t);
	t->nr_handlers = 0;
	t->holds_signals = !t->is_first;
	wf_sigqueue_open(&t->sigqueue);
}

/*
 * True if signals are closed on c: one arrived during the start of the thread
 * and waits in the carrier's slot. The mask stays closed until the slot is
 * drained.
 */
static bool is_closed(const struct wf_carrier *c)
{
	return wf_load_relaxed(&c->signal_slot.nr) != 0 ||
	       c->kernel_mask == WF_MASK_UNKNOWN;
}

void wf_signal_thread_begin(struct wf_thread *t)
{
	t->holds_signals = false;
	wf_compiler_barrier();
	wf_mask_begin(t);
	if (WF_UNLIKELY(wf_load_relaxed(&t->is_cancelled)))
		wf_cancel_apply(t);
	if (WF_UNLIKELY(wf_deliver_is_due(t) || is_closed(t->carrier) ||
			wf_load_relaxed(&t->exit_work) != 0)) {
		atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
		wf_runtime_leave_slow(t);
	}
}

static WF_NOINLINE void end_taking(struct wf_thread *t, uint64_t taken)
{
	wf_fence_seq_cst();
	/* Closes the carrier's mask: another thread may have noticed that the
	 * last thread that takes a signal has ended. From then on the kernel
	 * must not find the signal open here. */
	if (wf_routing_without_takers(taken) != 0)
		wf_carrier_set_mask(t->carrier, UINT64_MAX);
	wf_routing_closed(t, taken);
}

WF_LINK_INLINE void wf_signal_thread_end(struct wf_thread *me,
					 struct wf_thread *t)
{
	uint64_t told;

	t->holds_signals = true;
	wf_sigqueue_close(&t->sigqueue);
	if (WF_UNLIKELY(t->is_first))
		wf_store_relaxed(&wf_routing_first_mask, UINT64_MAX);
	told = wf_load_relaxed(&wf_routing_shown) |
	       (wf_load_relaxed(&wf_routing_first_mask) &
		wf_load_relaxed(&wf_action_halts));
	if (WF_UNLIKELY((~t->sigmask & told) != 0))
		end_taking(t, ~t->sigmask & told);
	if (WF_UNLIKELY(wf_sigqueue_pending(&t->sigqueue) != 0))
		empty(me, t);
}
