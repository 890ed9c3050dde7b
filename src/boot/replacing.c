/* SPDX-License-Identifier: MIT */
/*
 * An exec replaces the program. Before it, weft gives the kernel the state
 * that the new program inherits: pending signals and the scheduling policy. It
 * also ends the I/O servers. If exec fails, weft takes the state back.
 *
 * REPLACING-1. From the beginning until exec has failed, no thread is preempted
 *     (signal/preempt.c, PREEMPT-4), there are no I/O servers, and the kernel
 *     has the caller's signals. So the code here needs no VP: a thread that
 *     computes would not give one back.
 * REPLACING-2. A handler may run at any of these instructions. It may change
 *     credentials, fork, execute another program, wait, or never return. So the
 *     attempt is taken back before the handler runs, in one step with all
 *     signals blocked. It begins again when the handler returns.
 */
#include "boot/boot.h"
#include "io/backend/worker.h"
#include "os/kthread.h"
#include "sched/runtime.h"
#include "signal/preempt.h"
#include "signal/signal.h"
#include "thread/policy.h"

void wf_replacing_begin(void)
{
	struct wf_thread *t = wf_thread_self();

	wf_preempt_exec_begin(t);
	wf_preempt_exec_settle();
	wf_worker_end_processes();
	wf_signal_exec_begin(t);
	wf_policy_exec_begin(t);
}

/*
 * Called before a handler runs in the middle of an exec: takes the attempt
 * back. REPLACING-2
 */
void wf_replacing_suspend(struct wf_thread *t)
{
	wf_policy_exec_end(t);
	wf_signal_exec_failed(t);
	wf_preempt_exec_end(t);
}

/*
 * False in a child process that the handler has made: no threads exist there.
 */
void wf_replacing_resume(void)
{
	if (wf_is_started() && wf_preempt_is_here())
		wf_replacing_begin();
}

void wf_replacing_end(void)
{
	struct wf_thread *t = wf_thread_self();
	uint64_t mask = wf_os_close_signals();

	if (t->is_replacing)
		wf_replacing_suspend(t);
	wf_os_set_signal_mask(mask);
	wf_signal_exec_over(t);
}
