/* SPDX-License-Identifier: MIT */
/*
 * Entering and leaving the runtime.
 *
 *     struct wf_thread *t = wf_runtime_enter();
 *     ...      t->vp and t->carrier are stable, no preemption, no handoff, no
 *              handler of the program's; no system call that may block, no
 *              malloc, no page of the program's touched for the first time
 *     wf_runtime_leave(t);
 *
 * RUNTIME-1. While in_runtime is 1 and retake is not TAKEN, a multiplexed
 *     thread owns its VP. No other thread touches the VP's owner fields then.
 * RUNTIME-2. The thread stores in_runtime, then reads retake. The monitor
 *     stores ASK, runs a membarrier, then reads in_runtime. So at least one of
 *     the two sees the other.
 * RUNTIME-3. The thread stores in_runtime 0, then reads exit_work. A signal
 *     handler that sets exit_work and finds in_runtime 1 may rely on the exit
 *     to see it. The handler interrupts between two instructions of the same
 *     kernel thread.
 *
 * May be called in a signal handler of the program's; not recursive.
 */
#ifndef WEFT_SCHED_RUNTIME_H
#define WEFT_SCHED_RUNTIME_H

#include "sched/vp.h"

/* Gives the calling kernel thread a struct wf_thread at its first call. */
WF_COLD struct wf_thread *wf_runtime_attach(void);
/*
 * As wf_runtime_attach, for the process's first thread; called once by boot/.
 */
WF_COLD struct wf_thread *wf_runtime_attach_first(void);
/*
 * Called when retake is ASK or TAKEN: keeps the VP, or queues to reacquire one.
 */
WF_COLD void wf_runtime_reacquire_slow(struct wf_thread *t);
/*
 * Takes back the monitor's ASK. Returns false if the VP is gone (retake is
 * TAKEN).
 */
bool wf_runtime_keep_vp(struct wf_thread *t);
/*
 * Called when retake is TAKEN: separates t and its carrier from the VP. Returns
 * the post function for the switch to the carrier; that function queues t.
 */
wf_post_fn *wf_runtime_reacquire_begin(struct wf_thread *t);
/* Does the pending work of t, the caller, when exit_work is not 0. */
void wf_runtime_leave_slow(struct wf_thread *t);

/* Returns the calling thread. Attaches it first if this is its first call. */
WF_INLINE struct wf_thread *wf_thread_self(void)
{
	struct wf_thread *t = wf_self;

	return WF_LIKELY(t != NULL) ? t : wf_runtime_attach();
}

/* As wf_runtime_enter, for a caller that has its struct wf_thread, t. */
WF_INLINE void wf_runtime_enter_as(struct wf_thread *t)
{
	wf_store_relaxed(&t->in_runtime, 1);
	/* RUNTIME-2; the monitor's membarrier orders the CPU. */
	wf_compiler_barrier();
	if (WF_UNLIKELY(wf_load_acquire(&t->retake) != WF_RETAKE_NONE))
		wf_runtime_reacquire_slow(t);
}

WF_INLINE struct wf_thread *wf_runtime_enter(void)
{
	struct wf_thread *t = wf_thread_self();

	wf_runtime_enter_as(t);
	return wf_apart(t);
}

/*
 * Does the pending work (exit_work) of t, the caller, outside of the runtime.
 * For calls that have neither parked nor entered the runtime, and so do not
 * leave it.
 */
WF_INLINE void wf_runtime_do_work(struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&t->exit_work) != 0))
		wf_runtime_leave_slow(t);
}

/*
 * True if t, the caller, has pending work (exit_work). in_runtime is set. A
 * signal that comes after this check counts as one that comes after the call.
 */
WF_INLINE bool wf_runtime_has_work(const struct wf_thread *t)
{
	return WF_UNLIKELY(wf_load_relaxed(&t->exit_work) != 0);
}

WF_INLINE void wf_runtime_leave(struct wf_thread *t)
{
	/* release: our writes come before in_runtime 0; pairs with the
	 * monitor's acquire. */
	wf_store_release(&t->in_runtime, 0);
	wf_compiler_barrier(); /* RUNTIME-3: in_runtime before exit_work */
	wf_runtime_do_work(t);
}

#endif
