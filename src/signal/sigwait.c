/* SPDX-License-Identifier: MIT */
/*
 * sigwait and its relatives wait for a signal to take; sigsuspend and pause
 * wait until a handler has run. Both park on the user futex t->signal_word. A
 * sender stores 1 there and wakes the thread.
 *
 * SIGWAIT-1. A waiter parks on t->signal_word while it is 0. A sender that puts
 *     an awaited signal into the waiter's queue first stores 1 and then wakes:
 *     the user futex loses no wake. For sigsuspend the delivery of the handler
 *     stores 1, so a handler that runs before the park also ends the wait.
 * SIGWAIT-2. sigwait stores its set, passes a fence, then checks the queues and
 *     the kernel, and lets the receiver take the rest. A sender puts, passes a
 *     fence, then checks the set (routing.c, ROUTING-2 and ROUTING-3).
 * SIGWAIT-3. A waiter that gives up clears its set, then checks its queue once
 *     more. Signals to the process that it does not take go to other threads.
 * SIGWAIT-4. A handler ends a wait, and may leave it by siglongjmp. So the set
 *     is cleared before the handler runs.
 * SIGWAIT-5. Every wait leaves 1 in signal_word when it is over. A handler may
 *     run between SIGWAIT-2 and the park, and wait itself. The 1 then ends the
 *     outer wait, too.
 */
#include "signal/sigwait.h"

#include <errno.h>
#include <time.h>

#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/action.h"
#include "signal/deliver.h"
#include "signal/mask.h"
#include "signal/queue.h"
#include "signal/signal_receiver.h"
#include "signal/routing.h"
#include "wait/ufutex.h"

/* --- sigwait ------------------------------------------------------------ */

static long take_from_kernel(uint64_t set, siginfo_t *ret_info,
			     const struct timespec *timeout)
{
	return wf_sys(SYS_rt_sigtimedwait, &set, ret_info, timeout, 8);
}

static bool take(struct wf_thread *t, uint64_t set, siginfo_t *ret_info)
{
	const struct timespec now = { 0, 0 };

	wf_signal_receiver_settle();
	return wf_sigqueue_take(&t->sigqueue, set, ret_info) ||
	       wf_sigqueue_take(&wf_routing_process, set, ret_info) ||
	       take_from_kernel(set, ret_info, &now) > 0;
}

void wf_signal_take_preceding(void)
{
	const struct timespec now = { 0, 0 };
	struct wf_thread *t;
	siginfo_t info;
	uint64_t set;

	if (!wf_load_relaxed(&wf_action_had_handlers) || wf_self == NULL ||
	    wf_self->carrier == NULL)
		return;
	t = wf_runtime_enter();
	set = wf_signal_receiver_takes_for(t);
	while (set != 0 && take_from_kernel(set, &info, &now) > 0)
		wf_routing_to_thread(t, t, &info);
	wf_signal_receiver_await_taken();
	wf_runtime_leave(t);
}

/* Begins the wait (SIGWAIT-2). Returns true if a signal is there already. */
static bool begin(struct wf_thread *t, uint64_t set, siginfo_t *ret_info)
{
	if (wf_sigqueue_take(&t->sigqueue, set, ret_info))
		return true;
	wf_action_keep(set);
	wf_store_relaxed(&t->signal_word, 0);
	wf_store_relaxed(&t->sigwait_set, set);
	atomic_fetch_add(&wf_routing_nr_waiters, 1);
	wf_fence_seq_cst();
	if (take(t, set, ret_info))
		return true;
	wf_signal_receiver_want(set);
	return false;
}

void wf_signal_wait_ended(struct wf_thread *t)
{
	if (wf_load_relaxed(&t->sigwait_set) == 0)
		return;
	wf_store_relaxed(&t->sigwait_set, 0);
	/* SIGWAIT-5: ends an outer wait, too */
	wf_store_relaxed(&t->signal_word, 1);
	atomic_fetch_sub(&wf_routing_nr_waiters, 1);
	wf_fence_seq_cst();
}

/*
 * Ends the wait: clears the set, then checks the queue once more. Returns true
 * if there is a signal. SIGWAIT-3
 */
static bool end(struct wf_thread *t, uint64_t set, bool has_one,
		siginfo_t *ret_info)
{
	wf_signal_wait_ended(t);
	if (!has_one)
		has_one = wf_sigqueue_take(&t->sigqueue, set, ret_info);
	wf_mask_set_locked(t, t->sigmask);
	wf_routing_leave_shown(set & t->sigmask);
	return has_one;
}

/*
 * Converts the result of libc's function. Foreign threads wait in such
 * functions, so that they can be cancelled. A thread that makes a system call
 * directly has no cancellation point here.
 */
static int wait_result(int rc)
{
	return rc < 0 ? -errno : rc;
}

static int wait_native(uint64_t set, siginfo_t *ret_info, int64_t deadline_ns)
{
	const struct timespec *timeout = NULL;
	struct timespec left;
	int64_t ns = deadline_ns - wf_os_now();

	if (deadline_ns != WF_FOREVER) {
		left = wf_os_timespec(ns > 0 ? ns : 0);
		timeout = &left;
	}
	if (wf_self->at_cancel_point)
		return wait_result(wf_real.sigtimedwait((const sigset_t *)&set,
							ret_info, timeout));
	return (int)take_from_kernel(set, ret_info, timeout);
}

int wf_signal_wait(uint64_t set, siginfo_t *ret_info, int64_t deadline_ns)
{
	struct wf_thread *t = wf_runtime_enter();
	bool has_one;
	int err;

	if (t->carrier == NULL) {
		wf_runtime_leave(t);
		return wait_native(set, ret_info, deadline_ns);
	}
	set &= ~WF_SIGNAL_UNBLOCKABLE;
	for (;;) {
		uint32_t nr_handlers = t->nr_handlers;

		has_one = begin(t, set, ret_info);
		err = 0;
		if (!has_one) {
			wf_runtime_leave(t);
			err = wf_ufutex_wait(WF_WAIT_SIGNAL, &t->signal_word, 0,
					     WF_UFUTEX_ANY, deadline_ns);
			wf_runtime_enter();
		}
		has_one = end(t, set, has_one, ret_info);
		if (has_one || err == -ETIMEDOUT || err == -ECANCELED ||
		    t->nr_handlers != nr_handlers)
			break;
	}
	wf_runtime_leave(t);
	if (has_one)
		return ret_info->si_signo;
	if (err == -ECANCELED)
		return err;
	return err == -ETIMEDOUT ? -EAGAIN : -EINTR;
}

/* --- sigsuspend --------------------------------------------------------- */

/*
 * Restores the mask from before sigsuspend, unless a handler has run, after
 * which it was restored.
 */
static bool take_back(struct wf_thread *t)
{
	if (!*(volatile bool *)&t->is_suspended)
		return false;
	t->is_suspended = false;
	/* SIGWAIT-5: ends an outer wait, too */
	wf_store_relaxed(&t->signal_word, 1);
	wf_mask_change(SIG_SETMASK, &t->suspended_mask, NULL);
	return true;
}

static void suspend_begin(struct wf_thread *t, uint64_t mask)
{
	t->suspended_mask = t->sigmask;
	t->is_suspended = true;
	wf_store_relaxed(&t->signal_word, 0);
	wf_mask_set_locked(t, mask);
	wf_carrier_set_mask(t->carrier, mask);
	wf_runtime_leave(t);
}

void wf_signal_open_for_wait(const uint64_t *mask)
{
	if (mask != NULL)
		suspend_begin(wf_runtime_enter(),
			      *mask & ~WF_SIGNAL_UNBLOCKABLE);
}

void wf_signal_close_after_wait(const uint64_t *mask)
{
	if (mask != NULL)
		take_back(wf_self);
}

static int suspend(struct wf_thread *t, uint64_t mask)
{
	suspend_begin(t, mask);
	/* The delivery of a handler clears is_suspended and restores the
	 * mask. */
	while (*(volatile bool *)&t->is_suspended) {
		int err = wf_ufutex_wait(WF_WAIT_SIGNAL, &t->signal_word, 0,
					 WF_UFUTEX_ANY, WF_FOREVER);

		if (err == -ECANCELED && take_back(t))
			return err;
	}
	return -EINTR;
}

int wf_signal_suspend(uint64_t mask)
{
	struct wf_thread *t = wf_runtime_enter();

	if (t->carrier != NULL)
		return suspend(t, mask & ~WF_SIGNAL_UNBLOCKABLE);
	wf_runtime_leave(t);
	if (t->at_cancel_point)
		return wait_result(wf_real.sigsuspend((const sigset_t *)&mask));
	return (int)wf_sys(SYS_rt_sigsuspend, &mask, 8);
}

int wf_signal_pause(void)
{
	struct wf_thread *t = wf_runtime_enter();

	if (t->carrier != NULL)
		return suspend(t, t->sigmask);
	wf_runtime_leave(t);
	return t->at_cancel_point ? wait_result(wf_real.pause()) :
				    (int)wf_sys(SYS_pause);
}
