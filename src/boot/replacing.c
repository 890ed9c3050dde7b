/* SPDX-License-Identifier: MIT */
/*
 * REPLACING-1. Until exec has failed nobody is preempted (signal/preempt.c,
 *     PREEMPT-4), there are no I/O servers, and the caller's signals are the
 *     kernel's. So nothing here needs a VP: who computes would not give it
 *     back.
 * REPLACING-2. A handler may come at any of these instructions, change
 *     credentials, fork, execute another program, wait, or never return. So the
 *     attempt is taken back before it runs, in one step (everything is
 *     blocked), and is begun again when it returns.
 */
#include "boot/boot.h"
#include "io/worker.h"
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

/* REPLACING-2 */
void wf_replacing_suspend(struct wf_thread *t)
{
	wf_policy_exec_end(t);
	wf_signal_exec_failed(t);
	wf_preempt_exec_end(t);
}

/* In a child that a handler has made there may be no threads. */
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
