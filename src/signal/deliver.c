/* SPDX-License-Identifier: MIT */
/*
 * Runs handlers of the program. wf_deliver builds a frame on the thread's
 * stack, as the kernel would, and enters the handler. When the handler returns,
 * wf_signal_return restores the mask and resumes the interrupted code by
 * rt_sigreturn.
 *
 * DELIVER-1. A handler is entered with in_runtime 0, on the program's stack or
 *     its virtual alternate stack, by a frame that looks like the kernel's. So
 *     the handler may be preempted, park, or leave by longjmp or an exception.
 * DELIVER-2. The alternate stack that the kernel knows is always the carrier's.
 *     The frame shows the handler the program's alternate stack. Before
 *     rt_sigreturn that entry is made invalid, so that the kernel keeps the
 *     carrier's.
 * DELIVER-3. From the change of t->sigmask to rt_sigreturn, or to the change of
 *     the kernel's mask in wf_arch_signal_enter, all signals are blocked.
 * DELIVER-4. Signals that are due when a mask opens are delivered by a kick
 *     that is sent while all signals are blocked. The kernel delivers the kick
 *     on the context that is resumed, so handlers nest only as the masks allow.
 * DELIVER-5. After a handler the thread may be on another carrier, or in a fork
 *     child, which has no carriers.
 */
#include "signal/deliver.h"

#include <string.h>

#include "arch/arch.h"
#include "arch/ended_call.h"
#include "base/upcall.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/signal_entry.h"
#include "signal/cancel.h"
#include "signal/frame.h"
#include "signal/mask.h"
#include "signal/overflow.h"
#include "signal/queue.h"
#include "signal/signalfd.h"
#include "signal/sigwait.h"
#include "wait/ufutex_internal.h"

#define AUTODISARM (1U << 31) /* SS_AUTODISARM */

/* The frame on the program's stack: the kernel's fields, and some of weft's. */
struct handler_frame {
	void (*return_address)(void);
	char uc[WF_FRAME_UC_BYTES];
	/* the thread register; wf_arch_signal_return reads it */
	uintptr_t own_tp;
	siginfo_t info;
	uint64_t mask;	      /* the handler's mask, for wf_arch_signal_enter */
	bool may_restart;     /* the action has SA_RESTART */
	bool was_interrupted; /* t->interrupted from before the handler */
	bool was_at_cancel_point;
	bool was_replacing;
	/* the set of the signalfd read that the handler interrupts, or 0 */
	uint64_t read_set;
};

_Static_assert(offsetof(struct handler_frame, own_tp) -
			       offsetof(struct handler_frame, uc) ==
		       WF_ARCH_FRAME_TP,
	       "signal.S knows it");

/* --- where the frame goes ----------------------------------------------- */

static bool is_on(const struct wf_thread *t, uintptr_t sp)
{
	return (t->altstack.flags & SS_DISABLE) == 0 &&
	       sp > (uintptr_t)t->altstack.sp &&
	       sp - (uintptr_t)t->altstack.sp <= t->altstack.size;
}

/*
 * Returns the address at which the frame must end. Stores the alternate stack
 * that the handler is to find in the frame.
 */
static uintptr_t frame_top(struct wf_thread *t, const ucontext_t *uc,
			   const struct wf_action *action,
			   stack_t *ret_altstack)
{
	uintptr_t sp = wf_arch_uc_sp(uc);
	bool on = is_on(t, sp);

	*ret_altstack = (stack_t){ t->altstack.sp,
				   t->altstack.flags | (on ? SS_ONSTACK : 0),
				   t->altstack.size };
	if ((action->flags & SA_ONSTACK) == 0 || on ||
	    (t->altstack.flags & SS_DISABLE) != 0)
		return sp - WF_ARCH_RED_ZONE;
	sp = (uintptr_t)t->altstack.sp + t->altstack.size;
	if ((unsigned int)t->altstack.flags & AUTODISARM) {
		t->altstack.sp = NULL;
		t->altstack.size = 0;
		t->altstack.flags = SS_DISABLE;
	}
	return sp;
}

static struct handler_frame *build(const ucontext_t *uc, uintptr_t top)
{
	size_t fp_bytes = wf_frame_fp_bytes(uc);
	uintptr_t fp = (top - fp_bytes) & ~63UL;
	uintptr_t at = (fp - sizeof(struct handler_frame)) & ~15UL;
	struct handler_frame *f = (struct handler_frame *)(at - 8);
	ucontext_t *copy = (ucontext_t *)f->uc;

	f->return_address = wf_arch_signal_return;
	memcpy(copy, uc, WF_FRAME_UC_BYTES);
	if (fp_bytes > 0) {
		memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_bytes);
		copy->uc_mcontext.fpregs = (fpregset_t)fp;
	}
	return f;
}

static size_t frame_bytes(const ucontext_t *uc)
{
	return wf_frame_fp_bytes(uc) + sizeof(struct handler_frame) + 128;
}

/* --- entering a handler -------------------------------------------------- */

/*
 * Ends the kernel wait that the handler has interrupted (wait/ufutex.c,
 * UFUTEX-7).
 */
static void end_kernel_wait(struct wf_thread *t)
{
	if (t->kind != WF_THREAD_MULTIPLEXED)
		wf_ufutex_interrupt(t, t);
}

static uint64_t handler_mask(const struct wf_thread *t, int sig,
			     const struct wf_action *action)
{
	uint64_t mask = t->sigmask | action->mask;

	if ((action->flags & SA_NODEFER) == 0)
		mask |= WF_SIGNAL_BIT(sig);
	return mask & ~WF_SIGNAL_UNBLOCKABLE;
}

/*
 * Returns the mask to which the handler returns. In sigsuspend that is the mask
 * from before the call.
 */
static uint64_t mask_after(struct wf_thread *t)
{
	if (!t->is_suspended)
		return t->sigmask;
	t->is_suspended = false;
	wf_store_relaxed(&t->signal_word, 1);
	return t->suspended_mask;
}

void wf_deliver(struct wf_thread *t, int sig, const siginfo_t *info,
		ucontext_t *uc, const struct wf_action *action)
{
	struct wf_carrier *c = t->carrier;
	struct handler_frame *f;
	stack_t altstack;
	uintptr_t top = frame_top(t, uc, action, &altstack);
	bool was_replacing = t->is_replacing;
	uint64_t after, read_set;

	if (wf_overflow_would(t, top, top - frame_bytes(uc)))
		return;
	end_kernel_wait(t);
	if (WF_UNLIKELY(was_replacing))
		wf_upcall.exec_suspend(t);
	after = mask_after(t);
	t->takes_signal = false;
	t->nr_handlers++;
	read_set = wf_signalfd_suspend(t);
	wf_signal_wait_ended(t);
	wf_arch_uc_call_is_over(uc);
	if ((action->flags & SA_RESTART) == 0)
		wf_arch_uc_set_eintr(uc);
	/* DELIVER-3: blocks all */
	wf_mask_close(t, handler_mask(t, sig, action));
	wf_carrier_note_mask(c, t->sigmask);
	if (wf_deliver_is_due(t))
		wf_deliver_kick_self(); /* DELIVER-4: others are due */
	/* Writes to the program's stack outside of the runtime, since a write
	 * there may fault. */
	/* DELIVER-1: the handler may be preempted */
	wf_store_release(&t->in_runtime, 0);
	f = build(uc, top);
	f->own_tp = wf_cpu_thread_register();
	f->info = *info;
	f->mask = t->sigmask & ~WF_PREEMPT_BIT;
	f->may_restart = (action->flags & SA_RESTART) != 0;
	f->was_interrupted = t->interrupted;
	f->was_at_cancel_point = t->at_cancel_point;
	f->was_replacing = was_replacing;
	f->read_set = read_set;
	t->at_cancel_point = false;
	t->is_starving = false; /* a wait in the handler does not starve */
	uc = (ucontext_t *)f->uc;
	uc->uc_stack = altstack;
	*wf_frame_mask(uc) = after;
	wf_arch_signal_enter(f, &f->mask, (void *)action->handler, sig,
			     &f->info, uc);
}

WF_LINK_INLINE bool wf_deliver_is_due(struct wf_thread *t)
{
	return !t->holds_signals &&
	       (wf_sigqueue_pending(&t->sigqueue) & wf_deliver_open(t)) != 0;
}

void wf_deliver_kick_self(void)
{
	wf_os_signal_self(wf_os_gettid(), WF_PREEMPT_SIGNAL);
}

void wf_deliver_before_sigreturn(struct wf_thread *t, const ucontext_t *uc)
{
	wf_signal_entry_drain(t->carrier, t);
	if (wf_deliver_is_due(t) || wf_cancel_is_here(t, wf_arch_uc_pc(uc)) ||
	    (wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) != 0)
		wf_deliver_kick_self(); /* DELIVER-4: when the mask opens */
}

/* --- coming back -------------------------------------------------------- */

/*
 * Arms the alternate stack again as the frame has it, if its flags have
 * SS_AUTODISARM.
 */
static void rearm_altstack(struct wf_thread *t, const ucontext_t *uc)
{
	if (((unsigned int)uc->uc_stack.ss_flags & AUTODISARM) == 0)
		return;
	t->altstack.sp = uc->uc_stack.ss_sp;
	t->altstack.size = uc->uc_stack.ss_size;
	t->altstack.flags = uc->uc_stack.ss_flags & ~SS_ONSTACK;
}

void wf_signal_return(ucontext_t *uc)
{
	struct handler_frame *f = wf_container_of(
		(char(*)[WF_FRAME_UC_BYTES])uc, struct handler_frame, uc);
	struct wf_thread *t;

	if (WF_UNLIKELY(f->was_replacing))
		wf_upcall.exec_resume();
	t = wf_runtime_enter();
	t->interrupted = f->was_interrupted || !f->may_restart;
	t->at_cancel_point = f->was_at_cancel_point;
	if (wf_signalfd_resume(t, f->read_set))
		wf_arch_uc_set_eintr(uc);
	rearm_altstack(t, uc);
	if (t->carrier == NULL) { /* DELIVER-5: in a fork child */
		wf_frame_poison_altstack(uc);
		wf_store_release(&t->in_runtime, 0);
		return;
	}
	wf_os_set_signal_mask(UINT64_MAX); /* DELIVER-3: until rt_sigreturn */
	wf_frame_poison_altstack(uc);	   /* DELIVER-2: keeps the carrier's */
	t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	wf_mask_set_locked(t, *wf_frame_mask(uc) & ~WF_SIGNAL_UNBLOCKABLE);
	wf_deliver_before_sigreturn(t, uc);
	*wf_frame_mask(uc) = t->sigmask;
	wf_carrier_note_mask(t->carrier, t->sigmask);
	wf_store_release(&t->in_runtime, 0);
}
