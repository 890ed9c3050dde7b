/* SPDX-License-Identifier: MIT */
/*
 * The kernel calls wf_signal_entry for every signal that the program has a
 * handler for. The function decides by the state of the interrupted code. In
 * the runtime it stores the signal for later. In the program's code it runs the
 * handler, if the signal is for this thread, or gives the signal to another
 * thread. The kick's handler and the runtime's exit deliver the stored signals.
 *
 * SIGNAL_ENTRY-1. No handler of the program's runs with in_runtime set. A
 *     signal that arrives then goes into the carrier's slot, and the mask of
 *     the interrupted frame is closed. So at most a few more signals follow,
 *     which a change of the mask in progress lets through. The runtime's exit
 *     empties the slot. If this thread parks, the next thread's exit or the
 *     agent does.
 * SIGNAL_ENTRY-2. The slot is emptied with all signals blocked: a handler on
 *     the same kernel thread fills it.
 * SIGNAL_ENTRY-3. The preemption signal stays open in the runtime. The
 *     runtime's exit enters handlers only by this signal, which it sends to
 *     itself with takes_signal set.
 * SIGNAL_ENTRY-4. A kernel thread without a carrier is foreign, and a thread
 *     with native signals (thread/own_runtime.c) must not be interrupted by
 *     weft. There the handler runs as the kernel would run it. A signal in the
 *     runtime goes into a slot of a small pool.
 * SIGNAL_ENTRY-5. A bound thread may set the kernel's alternate stack by a
 *     system call that is compiled into the program. The first signal after
 *     that finds the stack in its frame, and the thread has native signals from
 *     then on.
 */
#include "signal/signal_entry.h"

#include <string.h>

#include "arch/ended_call.h"
#include "arch/memory.h"
#include "arch/words.h"
#include "libc/text.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/action.h"
#include "signal/cancel.h"
#include "signal/deliver.h"
#include "signal/dump_signal.h"
#include "signal/foreign.h"
#include "signal/frame.h"
#include "signal/overflow.h"
#include "signal/queue.h"
#include "signal/routing.h"
#include "signal/signalfd.h"
#include "signal/stack_code.h"

bool wf_signal_entry_is_fault(int sig, const siginfo_t *info)
{
	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
	case SIGSYS:
		return info->si_code > 0;
	default:
		return false;
	}
}

/* True if the signal is for the thread that it has interrupted. */
static bool is_for_running(int sig, const siginfo_t *info)
{
	return wf_signal_entry_is_fault(sig, info) ||
	       info->si_code == SI_TKILL || sig == SIGPIPE || sig == SIGXFSZ ||
	       sig == SIGPROF || sig == SIGVTALRM;
}

/* --- in the runtime ----------------------------------------------------- */

/*
 * Stores a signal that has interrupted the runtime in c->signal_slot, which
 * holds up to WF_SIGNAL_SLOTS signals until the thread leaves the runtime.
 * SIGNAL_ENTRY-1
 */
static void put_off(struct wf_thread *t, struct wf_carrier *c,
		    const siginfo_t *info, ucontext_t *uc)
{
	const uint64_t faults = WF_SIGNAL_BIT(SIGSEGV) | WF_SIGNAL_BIT(SIGBUS);
	struct wf_signal_slot *s = &c->signal_slot;
	uint32_t nr = wf_load_relaxed(&s->nr);

	if (nr < WF_SIGNAL_SLOTS) {
		memcpy(s->info[nr], info, sizeof(s->info[nr]));
		wf_store_relaxed(&s->nr, nr + 1);
	} else {
		/* The slot is full. Sends the signal again, so that it waits in
		 * the kernel, which blocks it from now on. */
		wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(),
		       info->si_signo, info);
	}
	/* Leaves the signals of a fault open for a thread that checks wait
	 * words, which may fault. */
	*wf_frame_mask(uc) = ~WF_PREEMPT_BIT;
	if ((faults & WF_SIGNAL_BIT(info->si_signo)) == 0)
		*wf_frame_mask(uc) &= ~faults;
	c->kernel_mask = WF_MASK_UNKNOWN;
	atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
}

/*
 * Ends the process: the thread executes the faulting instruction again, without
 * a handler.
 */
static void die_of_fault(struct wf_thread *t, int sig, const siginfo_t *info,
			 const ucontext_t *uc)
{
	if (sig == SIGSEGV)
		wf_overflow_report(t, info, uc);
	wf_action_uninstall(sig);
}

void wf_signal_entry_drain(struct wf_carrier *c, struct wf_thread *t)
{
	struct wf_signal_slot *s = &c->signal_slot;
	siginfo_t infos[WF_SIGNAL_SLOTS];
	struct wf_thread *me = t;
	uint32_t nr;

	if (wf_load_relaxed(&s->nr) == 0)
		return;
	/* SIGNAL_ENTRY-2: no handler fills it now */
	wf_os_set_signal_mask(UINT64_MAX);
	c->kernel_mask = WF_MASK_UNKNOWN;
	nr = wf_load_relaxed(&s->nr);
	memcpy(infos, s->info, nr * sizeof(infos[0]));
	wf_store_relaxed(&s->nr, 0);
	/* me is NULL if t has lost its VP: then it must not queue another
	 * thread on it. */
	if (t == NULL)
		me = &c->idle_self;
	else if (wf_load_relaxed(&t->retake) == WF_RETAKE_TAKEN)
		me = NULL;
	for (uint32_t i = 0; i < nr; i++) {
		if (t != NULL && is_for_running(infos[i].si_signo, &infos[i]))
			wf_routing_to_thread(me, t, &infos[i]);
		else
			wf_routing_to_process(me, &infos[i], t);
	}
}

/* --- in the program ----------------------------------------------------- */

/* Enters the runtime. Returns NULL if the VP is gone. */
static struct wf_thread *enter(struct wf_thread *t)
{
	wf_store_relaxed(&t->in_runtime, 1);
	wf_compiler_barrier();
	if (wf_load_acquire(&t->retake) == WF_RETAKE_NONE ||
	    wf_runtime_keep_vp(t))
		return t;
	return NULL;
}

static void leave(struct wf_thread *t)
{
	/* Need not check exit_work: a thread that set it meanwhile has also
	 * kicked this one. */
	wf_store_release(&t->in_runtime, 0);
}

/*
 * Enters the program's handler, and does not return. Returns if there is none.
 */
static void act(struct wf_thread *t, int sig, const siginfo_t *info,
		ucontext_t *uc)
{
	struct wf_action a = wf_action_begin(sig);

	if (wf_action_is_handler(&a)) {
		wf_deliver(t, sig, info, uc, &a);
		/* There is no room for the frame. The kernel, too, ends the
		 * process by SIGSEGV then. */
		die_of_fault(t, SIGSEGV, info, uc);
		wf_os_tgkill(wf_os_gettid(), SIGSEGV);
	} else if (wf_action_is_sig_dfl(&a)) {
		if (wf_signal_entry_is_fault(sig, info))
			die_of_fault(t, sig, info, uc);
		else if (!wf_action_ignores(sig))
			wf_action_do_default(sig, info);
	}
}

void wf_signal_entry_restart_call(ucontext_t *uc)
{
	if (wf_text_of(wf_arch_uc_pc(uc)) == WF_TEXT_PROGRAM)
		wf_arch_uc_call_again(uc);
}

/*
 * Checks whether the program has set the kernel's alternate stack itself.
 * SIGNAL_ENTRY-5
 */
static void notice_altstack(struct wf_thread *t, struct wf_carrier *c,
			    const ucontext_t *uc)
{
	if (WF_LIKELY(c->bound != t || uc->uc_stack.ss_sp == c->altstack))
		return;
	c->has_own_state = true; /* the carrier ends with t */
	t->has_native_signals = true;
}

void wf_signal_entry(int sig, siginfo_t *info, void *ucontext)
{
	struct wf_thread *t = wf_self, *me;
	struct wf_carrier *c = t != NULL ? t->carrier : NULL;
	bool is_blocked;

	wf_cpu_enter_handler();
	/* Faults that are weft's to mend: the thread reads a wait word in
	 * unmapped memory, uses a bad pointer of the program's, or executes
	 * code on a stack. */
	if (wf_signal_entry_is_fault(sig, info) &&
	    (wf_arch_slots_fixup(ucontext) || wf_arch_copy_fixup(ucontext) ||
	     wf_stack_code_fixup(info, ucontext)))
		return;
	if (wf_dump_signal_take(sig, ucontext)) {
		if (c != NULL && wf_load_relaxed(&t->in_runtime) == 0)
			wf_signal_entry_restart_call(ucontext);
		return;
	}
	if (c == NULL || !wf_is_started() || t->has_native_signals) {
		/* SIGNAL_ENTRY-4: as the kernel would */
		wf_foreign_entry(t, sig, info, ucontext);
		return;
	}
	if (wf_load_relaxed(&t->in_runtime) != 0 || t->holds_signals) {
		if (wf_signal_entry_is_fault(sig, info))
			die_of_fault(t, sig, info, ucontext);
		else
			put_off(t, c, info, ucontext);
		return;
	}
	notice_altstack(t, c, ucontext);
	if (t->has_native_signals) {
		wf_foreign_entry(t, sig, info, ucontext);
		return;
	}
	me = enter(t);
	/* A signal that t blocks can arrive: libc opens some signals without
	 * weft, and abort() opens SIGABRT. */
	is_blocked = (t->sigmask & WF_SIGNAL_BIT(sig)) != 0;
	if (wf_routing_is_awaited(t, sig) &&
	    !wf_signal_entry_is_fault(sig, info))
		wf_routing_to_thread(me, t, info);
	else if (is_for_running(sig, info) ||
		 (!is_blocked && wf_routing_prefers(t, sig)))
		act(t, sig, info, ucontext);
	else
		wf_routing_to_process(me, info, is_blocked ? NULL : t);
	/* If no handler runs, the system call that the signal has interrupted
	 * starts again. */
	if (!is_blocked)
		wf_signal_entry_restart_call(ucontext);
	if (wf_deliver_is_due(t))
		wf_deliver_kick_self();
	leave(t);
}

/*
 * Sends the signals in the queue of t, the caller, to its kernel thread, so
 * that the kernel delivers them. SIGNAL_ENTRY-4
 */
static void hand_to_kernel(struct wf_thread *t)
{
	siginfo_t info;

	while (wf_sigqueue_take(&t->sigqueue, UINT64_MAX, &info))
		wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(),
		       info.si_signo, &info);
}

void wf_signal_entry_kick(struct wf_thread *t, ucontext_t *uc)
{
	bool is_exit = t->takes_signal;
	siginfo_t info;

	if (wf_load_relaxed(&t->in_runtime) != 0 && !is_exit)
		return;
	notice_altstack(t, t->carrier, uc);
	if (t->has_native_signals) {
		hand_to_kernel(t);
		return;
	}
	if (t->holds_signals ||
	    ((wf_load_relaxed(&t->exit_work) & WF_WORK_SIGNAL) == 0 &&
	     !wf_deliver_is_due(t) && !wf_cancel_is_here(t, wf_arch_uc_pc(uc))))
		return;
	if (!is_exit)
		enter(t);
	atomic_fetch_and(&t->exit_work, ~WF_WORK_SIGNAL);
	wf_signal_entry_drain(t->carrier, t);
	wf_cancel_kick(t, uc);
	/* Ends the system call if t reads a signalfd on its carrier and has a
	 * signal for it. */
	if (wf_signalfd_is_due(t))
		wf_arch_uc_set_eintr(uc);
	while (wf_deliver_is_due(t) &&
	       wf_sigqueue_take(&t->sigqueue, wf_deliver_open(t), &info))
		act(t, info.si_signo, &info, uc);
	if (!is_exit)
		leave(t);
}

/* --- at the runtime's exit ---------------------------------------------- */

void wf_signal_entry_at_exit(struct wf_thread *t)
{
	wf_signalfd_is_due(t);
	for (;;) {
		struct wf_carrier *c = t->carrier;

		if (c == NULL || t->has_native_signals) {
			wf_foreign_at_exit(t);
			if (c != NULL)
				hand_to_kernel(t);
			return;
		}
		/* Drains the slot even while t holds signals back, since the
		 * mask has to open again. */
		wf_signal_entry_drain(c, t);
		wf_carrier_set_mask(c, t->sigmask);
		if (wf_load_relaxed(&c->signal_slot.nr) != 0)
			continue;
		if (!wf_deliver_is_due(t) && !wf_cancel_is_here(t, 0))
			return;
		/* SIGNAL_ENTRY-3: the handler may run */
		t->takes_signal = true;
		wf_compiler_barrier();
		wf_os_signal_self(wf_load_relaxed(&c->tid), WF_PREEMPT_SIGNAL);
		/* By now the handler has run, and t may be on another
		 * carrier. */
		wf_compiler_barrier();
		t->takes_signal = false;
		wf_runtime_enter();
	}
}
