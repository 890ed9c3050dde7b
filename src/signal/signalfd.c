/* SPDX-License-Identifier: MIT */
/*
 * SIGNALFD-1. A reader's sigwait_set is what it reads, its signal_word
 *     WF_SIGNAL_WORD_READS. Who queues such a signal then ends the reader's
 *     wait (ROUTING-1 and ROUTING-2 in routing.c). The reader looks at its
 *     queue itself when a wait is about to begin and at the runtime's exit
 *     after one, both with exit_work set, and then the call is not restarted.
 * SIGNALFD-2. The reader is not counted among the waiters and the receiver does
 *     not want its signals: what is sent to the process stays in the kernel,
 *     where the descriptor shows it to everybody who polls.
 * SIGNALFD-3. In a handler in the middle of a read the thread is no reader: the
 *     handler may wait for signals itself, or leave the read by siglongjmp.
 *     When it returns the thread is one again and looks at its queue.
 */
#include "signal/signalfd.h"

#include "sched/runtime.h"
#include "signal/deliver.h"
#include "signal/queue.h"
#include "signal/routing.h"

uint64_t wf_signalfd_set(uint64_t mask)
{
	return mask & wf_self->sigmask & ~WF_SIGNAL_UNBLOCKABLE;
}

bool wf_signalfd_take(uint64_t set, siginfo_t *ret_info)
{
	struct wf_thread *t = wf_runtime_enter();
	bool has_one = wf_sigqueue_take(&t->sigqueue, set, ret_info) ||
		       wf_sigqueue_take(&wf_routing_process, set, ret_info);

	wf_runtime_leave(t);
	return has_one;
}

void wf_signalfd_begin(uint64_t set)
{
	struct wf_thread *t = wf_self;

	wf_store_relaxed(&t->signal_word, WF_SIGNAL_WORD_READS);
	wf_store_relaxed(&t->sigwait_set, set);
	wf_fence_seq_cst(); /* ROUTING-2 */
}

void wf_signalfd_before_wait(void)
{
	atomic_fetch_or(&wf_self->exit_work, WF_WORK_SIGNAL); /* SIGNALFD-1 */
}

bool wf_signalfd_is_due(struct wf_thread *t)
{
	uint64_t pending = wf_sigqueue_pending(&t->sigqueue) |
			   wf_sigqueue_pending(&wf_routing_process);

	if (wf_load_relaxed(&t->signal_word) != WF_SIGNAL_WORD_READS ||
	    (pending & wf_load_relaxed(&t->sigwait_set)) == 0)
		return false;
	t->interrupted = true;
	return true;
}

uint64_t wf_signalfd_suspend(struct wf_thread *t)
{
	uint64_t set = wf_load_relaxed(&t->sigwait_set);

	if (wf_load_relaxed(&t->signal_word) != WF_SIGNAL_WORD_READS)
		return 0;
	wf_store_relaxed(&t->sigwait_set, 0);
	wf_store_relaxed(&t->signal_word, 0);
	return set;
}

bool wf_signalfd_resume(struct wf_thread *t, uint64_t set)
{
	if (set == 0)
		return false;
	wf_store_relaxed(&t->signal_word, WF_SIGNAL_WORD_READS);
	wf_store_relaxed(&t->sigwait_set, set);
	wf_fence_seq_cst(); /* ROUTING-2 */
	return wf_signalfd_is_due(t);
}

bool wf_signalfd_end(uint64_t set)
{
	struct wf_thread *t = wf_self;

	wf_store_relaxed(&t->sigwait_set, 0);
	wf_store_relaxed(&t->signal_word, 0);
	return ((wf_sigqueue_pending(&t->sigqueue) |
		 wf_sigqueue_pending(&wf_routing_process)) &
		set) != 0;
}
