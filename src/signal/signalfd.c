/* SPDX-License-Identifier: MIT */
/*
 * A read of a signalfd waits in the kernel for signals to the process. A signal
 * to the reading thread alone is in the thread's queue, which the kernel does
 * not know. So a sender of such a signal ends the read, and the thread takes
 * the signal from its queue.
 *
 * SIGNALFD-1. While a thread reads, its sigwait_set is the set that it reads,
 *     and its signal_word is WF_SIGNAL_WORD_READS. A sender that queues such a
 *     signal ends the reader's wait (ROUTING-1 and ROUTING-2 in routing.c). The
 *     reader checks its queue when a wait is about to begin, and at the
 *     runtime's exit after a wait, both with exit_work set. If a signal is
 *     there, the call is not restarted.
 * SIGNALFD-2. The reader is not counted among the waiters, and the receiver
 *     does not take its signals. So signals to the process stay in the kernel,
 *     where the descriptor shows them to every thread that polls it.
 * SIGNALFD-3. In a handler in the middle of a read the thread is no reader: the
 *     handler may wait for signals itself, or leave the read by siglongjmp.
 *     When the handler returns, the thread is a reader again and checks its
 *     queue.
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
	wf_fence_seq_cst(); /* ROUTING-2: set, then check the queue */
}

void wf_signalfd_before_wait(void)
{
	/* SIGNALFD-1: checks at the next wait */
	atomic_fetch_or(&wf_self->exit_work, WF_WORK_SIGNAL);
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
	wf_fence_seq_cst(); /* ROUTING-2: set, then check the queue */
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
