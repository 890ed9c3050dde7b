/* SPDX-License-Identifier: MIT */
/*
 * pthread_cancel sets libc's cancel word and makes the thread check it. A
 * thread that waits is woken, and its wait ends with -ECANCELED at a
 * cancellation point. A thread that runs is kicked. If libc's word allows it,
 * the handler or the runtime's exit ends the thread, by entering pthread_exit
 * like a handler.
 *
 * CANCEL-1. The canceller sets is_cancelled, then libc's word, then exit_work,
 *     then checks the thread's state (routing.c, ROUTING-1). is_cancelled stays
 *     set. A wait checks it under the bucket's lock, and not exit_work, which
 *     an exit of the runtime between the request and the wait may have cleared.
 * CANCEL-2. Cancellation ends a wait only while it is enabled, and only at a
 *     cancellation point or if the thread is asynchronous. The runtime's exit
 *     ends an asynchronous thread; otherwise it would never get to wait.
 * CANCEL-3. libc marks its blocking calls as asynchronous while they last
 *     (until 2.40), or makes them in one place (libc/bridge.h). The kick ends
 *     such a thread on the spot.
 * CANCEL-4. A thread that starts may overwrite its word. It clears
 *     holds_signals, then checks is_cancelled. The canceller sets is_cancelled,
 *     passes the membarrier of wf_routing_alert, then checks holds_signals.
 * CANCEL-5. A thread that is ended here is marked as exiting before the frame
 *     is built. libc marks it only after it has allocated and loaded its
 *     unwinder, and until then the thread counts as asynchronous. If another
 *     signal is due, its kick would come on top of the frame and find the
 *     cancellation again, without end.
 */
#include "signal/cancel.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "arch/arch.h"
#include "base/upcall.h"
#include "libc/bridge.h"
#include "libc/fields.h"
#include "libc/layout.h"
#include "sched/runtime.h"
#include "signal/deliver.h"
#include "signal/routing.h"
#include "wait/ufutex_internal.h"

static int word_of(const struct wf_thread *t)
{
	return wf_load_relaxed(wf_libc_cancel_word(t->slot.tcb));
}

void wf_cancel_apply(struct wf_thread *t)
{
	atomic_fetch_or(wf_libc_cancel_word(t->slot.tcb),
			WF_LIBC_CANCEL_SENT | WF_LIBC_CANCELED);
}

/* Sets libc's word, unless t is starting and may overwrite it. CANCEL-4 */
static void apply_if_whole(struct wf_thread *t)
{
	if (!*(volatile bool *)&t->holds_signals)
		wf_cancel_apply(t);
}

/*
 * True if the thread has disabled cancellation. Then its wait must not be ended
 * and restarted: the thread finds the request when it enables cancellation.
 */
static bool puts_it_off(const struct wf_thread *t)
{
	const int both = WF_LIBC_CANCEL_DISABLED | WF_LIBC_CANCELED;

	return !*(const volatile bool *)&t->holds_signals &&
	       (word_of(t) & both) == both;
}

void wf_cancel_request(struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();

	wf_bridge_find();
	/* CANCEL-1: before libc's word */
	if (!atomic_exchange(&t->is_cancelled, true)) {
		apply_if_whole(t);
		if (!puts_it_off(t))
			wf_routing_alert(me, t, WF_WORK_CANCEL);
		apply_if_whole(t); /* CANCEL-4: the thread may be starting */
	}
	wf_runtime_leave(me);
}

void wf_cancel_wake(struct wf_thread *t)
{
	struct wf_thread *me = wf_runtime_enter();

	wf_ufutex_interrupt(t, me);
	wf_runtime_leave(me);
}

void wf_cancel_met(struct wf_thread *t)
{
	if ((word_of(t) & WF_LIBC_CANCELED) != 0)
		wf_store_relaxed(&t->is_cancelled, true);
}

bool wf_cancel_is_due(const struct wf_thread *t)
{
	return t->at_cancel_point && !t->holds_signals &&
	       (word_of(t) & (WF_LIBC_CANCEL_DISABLED | WF_LIBC_CANCELED |
			      WF_LIBC_EXITING)) ==
		       WF_LIBC_CANCELED; /* CANCEL-2: requested and enabled */
}

bool wf_cancel_is_here(const struct wf_thread *t, uintptr_t pc)
{
	int word;

	if (!wf_load_relaxed(&t->is_cancelled) || t->holds_signals)
		return false;
	word = word_of(t);
	return (word & (WF_LIBC_CANCEL_DISABLED | WF_LIBC_CANCELED |
			WF_LIBC_EXITING)) == WF_LIBC_CANCELED &&
	       ((word & WF_LIBC_CANCEL_ASYNC) != 0 ||
		wf_bridge_holds(pc)); /* CANCEL-3: in libc's blocking calls */
}

static void end_here(int sig, siginfo_t *info, void *ucontext)
{
	wf_upcall.exit_cancelled();
}

void wf_cancel_kick(struct wf_thread *t, ucontext_t *uc)
{
	const struct wf_action action = { .handler = end_here,
					  .flags = SA_RESTART | SA_NODEFER };
	siginfo_t info;

	if (!wf_cancel_is_here(t, wf_arch_uc_pc(uc)))
		return;
	memset(&info, 0, sizeof(info));
	info.si_signo = WF_PREEMPT_SIGNAL;
	/* CANCEL-5: marks the thread as exiting. */
	atomic_fetch_or(wf_libc_cancel_word(t->slot.tcb), WF_LIBC_EXITING);
	wf_deliver(t, WF_PREEMPT_SIGNAL, &info, uc, &action);
	/* There was no room for the frame: the thread does not exit yet. */
	atomic_fetch_and(wf_libc_cancel_word(t->slot.tcb), ~WF_LIBC_EXITING);
}
