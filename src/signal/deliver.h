/* SPDX-License-Identifier: MIT */
/*
 * Running the program's handlers.
 */
#ifndef WEFT_SIGNAL_DELIVER_H
#define WEFT_SIGNAL_DELIVER_H

#include <signal.h>
#include <ucontext.h>

#include "sched/preempt.h"
#include "sched/vp.h"
#include "signal/action.h"
#include "signal/queue.h"

/* Never blocked: what the kernel refuses, libc's and weft's own. */
#define WF_SIGNAL_UNBLOCKABLE                                                  \
	(WF_SIGNAL_BIT(SIGKILL) | WF_SIGNAL_BIT(SIGSTOP) | WF_SIGNAL_BIT(32) | \
	 WF_PREEMPT_BIT)

/*
 * On the carrier's alternate stack, everything blocked, in_runtime set: makes
 * the handler run on the program's stack as if the signal had just
 * interrupted uc. Returns, with in_runtime set, only if the frame does not
 * fit on the stack.
 */
void wf_deliver(struct wf_thread *t, int sig, const siginfo_t *info,
		ucontext_t *uc, const struct wf_action *action);

/*
 * The signals that t's handlers take: those that t does not block. A signal
 * that t waits for by sigwait goes to the wait, though it has a handler, as
 * with the kernel.
 */
static inline uint64_t wf_deliver_open(const struct wf_thread *t)
{
	return ~(t->sigmask | wf_load_relaxed(&t->sigwait_set));
}

/* Signals that wait for t and that its handlers take. */
bool wf_deliver_is_due(struct wf_thread *t);

/*
 * Everything blocked, in_runtime set, about to go on by rt_sigreturn: what is
 * due is delivered on the context that is resumed.
 */
void wf_deliver_before_sigreturn(struct wf_thread *t, const ucontext_t *uc);

/* Makes this kernel thread run the kick's handler as soon as it may. */
void wf_deliver_kick_self(void);

/*
 * A handler is about to run in the middle of an exec, everything is blocked; it
 * has returned. Set by boot/.
 */
extern void (*wf_deliver_suspend_exec)(struct wf_thread *t);
extern void (*wf_deliver_resume_exec)(void);

/* Called by wf_arch_signal_return. */
void wf_signal_return(ucontext_t *uc);

#endif
