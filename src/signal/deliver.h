/* SPDX-License-Identifier: MIT */
/* Runs the program's handlers for signals that a thread receives. */
#ifndef WEFT_SIGNAL_DELIVER_H
#define WEFT_SIGNAL_DELIVER_H

#include <signal.h>
#include <ucontext.h>

#include "sched/preempt.h"
#include "sched/vp.h"
#include "signal/action.h"
#include "signal/queue.h"

/*
 * Signals that stay open whatever mask a thread sets: those that the kernel
 * refuses to block, glibc's own, and weft's own.
 */
#define WF_SIGNAL_UNBLOCKABLE                                                  \
	(WF_SIGNAL_BIT(SIGKILL) | WF_SIGNAL_BIT(SIGSTOP) | WF_SIGNAL_BIT(32) | \
	 WF_PREEMPT_BIT)

/*
 * Makes the handler run on the program's stack, as if the signal had just
 * interrupted uc. Call it on the carrier's alternate stack, with all signals
 * blocked and in_runtime set. It returns, with in_runtime set, only if the
 * frame does not fit on the stack.
 */
void wf_deliver(struct wf_thread *t, int sig, const siginfo_t *info,
		ucontext_t *uc, const struct wf_action *action);

/*
 * Returns the signals for which t's handlers run: all that t does not block. If
 * t waits for one of them by sigwait, it goes to the wait even if it has a
 * handler, as in the kernel.
 */
static inline uint64_t wf_deliver_open(const struct wf_thread *t)
{
	return ~(t->sigmask | wf_load_relaxed(&t->sigwait_set));
}

/* True if t's queue has signals for which its handlers run. */
bool wf_deliver_is_due(struct wf_thread *t);

/*
 * Call it before the thread resumes uc by rt_sigreturn, with all signals
 * blocked and in_runtime set. Signals that are due are then delivered as soon
 * as uc is resumed.
 */
void wf_deliver_before_sigreturn(struct wf_thread *t, const ucontext_t *uc);

/* Makes this kernel thread run the kick's handler once it may take signals. */
void wf_deliver_kick_self(void);

/* wf_arch_signal_return calls it when a handler returns. */
void wf_signal_return(ucontext_t *uc);

#endif
