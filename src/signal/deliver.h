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
 * Signals that no thread blocks: those that the kernel refuses to block,
 * libc's, weft's.
 */
#define WF_SIGNAL_UNBLOCKABLE                                                  \
	(WF_SIGNAL_BIT(SIGKILL) | WF_SIGNAL_BIT(SIGSTOP) | WF_SIGNAL_BIT(32) | \
	 WF_PREEMPT_BIT)

/*
 * Makes the handler run on the program's stack, as if the signal had just
 * interrupted uc. Call on the carrier's alternate stack, with all signals
 * blocked and in_runtime set. Returns, with in_runtime set, only if the frame
 * does not fit on the stack.
 */
void wf_deliver(struct wf_thread *t, int sig, const siginfo_t *info,
		ucontext_t *uc, const struct wf_action *action);

/*
 * The signals that t's handlers take: all that t does not block. A signal that
 * t waits for by sigwait goes to the wait even if it has a handler, as in the
 * kernel.
 */
static inline uint64_t wf_deliver_open(const struct wf_thread *t)
{
	return ~(t->sigmask | wf_load_relaxed(&t->sigwait_set));
}

/* True if signals wait for t that its handlers take. */
bool wf_deliver_is_due(struct wf_thread *t);

/*
 * Call before the thread resumes uc by rt_sigreturn, with all signals blocked
 * and in_runtime set. Signals that are due are then delivered on the context
 * that is resumed.
 */
void wf_deliver_before_sigreturn(struct wf_thread *t, const ucontext_t *uc);

/* Makes this kernel thread run the kick's handler once it may take signals. */
void wf_deliver_kick_self(void);

/* wf_arch_signal_return calls it when a handler returns. */
void wf_signal_return(ucontext_t *uc);

#endif
