/* SPDX-License-Identifier: MIT */
/*
 * Each thread has a signal mask in t->sigmask. While it runs, the kernel's mask
 * of its carrier follows. When a thread opens a signal, it takes the pending
 * ones from the process's queue and from the kernel. When it blocks a signal,
 * another thread gets those that were sent to the process. The alternate stack
 * is virtual: only weft's carriers have one in the kernel.
 *
 * MASK-1. While a thread runs code of the program's, the kernel's mask of its
 *     carrier is t->sigmask, or blocks all signals.
 * MASK-2. A thread that opens a signal passes a fence after its mask is set,
 *     then checks the queues. It takes the signals that the receiver does not
 *     take from the kernel itself, and then adds them to the receiver's set.
 *     Otherwise the order of sending and opening would be lost. ROUTING-2 and
 *     ROUTING-3 in routing.c say what the sender does.
 * MASK-3. A signal that was sent to the process, and that the chosen thread now
 *     blocks, goes to another thread.
 * MASK-4. A failing call may send its caller a signal that the caller blocks.
 *     That signal is not left to the carrier: other threads run there that do
 *     not block it.
 */
#include "signal/mask.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/action.h"
#include "signal/deliver.h"
#include "signal/memory.h"
#include "signal/queue.h"
#include "signal/signal_receiver.h"
#include "signal/routing.h"

static int apply(int how, uint64_t old, uint64_t set, uint64_t *ret_mask)
{
	set &= ~WF_SIGNAL_UNBLOCKABLE;
	switch (how) {
	case SIG_BLOCK:
		*ret_mask = old | set;
		return 0;
	case SIG_UNBLOCK:
		*ret_mask = old & ~set;
		return 0;
	case SIG_SETMASK:
		*ret_mask = set;
		return 0;
	default:
		return -EINVAL;
	}
}

static WF_NOINLINE void take_from_process(struct wf_thread *t, uint64_t opened)
{
	siginfo_t info;

	while ((wf_sigqueue_pending(&wf_routing_process) & opened) != 0 &&
	       wf_sigqueue_take(&wf_routing_process, opened, &info))
		wf_sigqueue_put(&t->sigqueue, &info, true);
}

/*
 * Takes the pending signals of set from the kernel. Leaves those that stop or
 * end the process there: they do so when the mask opens.
 */
static WF_COLD void take_from_kernel(struct wf_thread *t, uint64_t set)
{
	const struct timespec now = { 0, 0 };
	uint64_t taken = set & ~wf_load_relaxed(&wf_action_halts);
	siginfo_t info;

	while (taken != 0 &&
	       wf_sys(SYS_rt_sigtimedwait, &taken, &info, &now, 8) > 0)
		wf_sigqueue_put(&t->sigqueue, &info, true);
	wf_signal_receiver_open(set);
}

static WF_COLD void take_opened_slow(struct wf_thread *t, uint64_t opened,
				     uint64_t set)
{
	if ((wf_sigqueue_pending(&wf_routing_process) & opened) != 0)
		take_from_process(t, opened);
	if (set != 0)
		take_from_kernel(t, set);
}

/*
 * Takes the pending signals that t has just opened (MASK-2). Each thread calls
 * it when it begins.
 */
static inline void take_opened(struct wf_thread *t, uint64_t opened)
{
	uint64_t set = wf_signal_receiver_unwanted(opened);

	wf_signal_receiver_settle();
	if (WF_UNLIKELY((wf_sigqueue_pending(&wf_routing_process) & opened) !=
				0 ||
			set != 0))
		take_opened_slow(t, opened, set);
}

/* Gives signals in t's queue that t blocks to other threads. MASK-3 */
static void pass_on_closed(struct wf_thread *t)
{
	uint64_t closed = t->sigmask & ~wf_load_relaxed(&t->sigwait_set);
	siginfo_t info;

	while ((wf_sigqueue_pending(&t->sigqueue) & closed) != 0 &&
	       wf_sigqueue_take_process(&t->sigqueue, closed, &info))
		wf_routing_to_process(t, &info, NULL);
}

static void store(struct wf_thread *t, uint64_t mask)
{
	t->sigmask = mask;
	if (t->is_first)
		wf_store_relaxed(&wf_routing_first_mask, mask);
}

void wf_mask_close(struct wf_thread *t, uint64_t mask)
{
	uint64_t closed = mask & ~t->sigmask;
	uint64_t told = wf_load_relaxed(&wf_action_halts) |
			wf_load_relaxed(&wf_routing_shown);

	store(t, mask);
	if (WF_LIKELY((closed & told) == 0))
		return;
	wf_fence_seq_cst();
	wf_routing_closed(t, closed);
}

void wf_mask_set_locked(struct wf_thread *t, uint64_t mask)
{
	uint64_t opened = t->sigmask & ~mask, closed = mask & ~t->sigmask;

	store(t, mask);
	wf_fence_seq_cst();
	if (closed != 0)
		wf_routing_closed(t, closed);
	if (opened != 0)
		take_opened(t, opened);
	pass_on_closed(t);
	if (wf_deliver_is_due(t))
		atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
}

void wf_mask_begin(struct wf_thread *t)
{
	take_opened(t, ~t->sigmask);
}

uint64_t wf_mask_of_first(const struct wf_thread *t)
{
	/* When a sanitizer blocks all signals it leaves SIGSYS open. Newer
	 * sanitizers also leave the signals of a fault open. */
	const uint64_t spared = WF_SIGNAL_UNBLOCKABLE | WF_SIGNAL_BIT(SIGSYS) |
				WF_SIGNAL_BIT(SIGILL) | WF_SIGNAL_BIT(SIGTRAP) |
				WF_SIGNAL_BIT(SIGABRT) | WF_SIGNAL_BIT(SIGBUS) |
				WF_SIGNAL_BIT(SIGFPE) | WF_SIGNAL_BIT(SIGSEGV) |
				WF_SIGNAL_BIT(SIGPIPE);
	uint64_t mask = wf_os_get_signal_mask();

	if ((mask | spared) != UINT64_MAX || !t->is_first)
		return mask;
	return t->sigmask;
}

/*
 * Changes the mask of a thread with native signals: the kernel has the mask,
 * and checks whether ret_old is writable.
 */
static int change_native(struct wf_thread *t, int how, const uint64_t *set,
			 uint64_t *ret_old)
{
	uint64_t own, bits = set != NULL ? *set & ~WF_SIGNAL_UNBLOCKABLE : 0;
	int err;

	ret_old = ret_old != NULL ? ret_old : &own;
	err = (int)wf_sys(SYS_rt_sigprocmask, how, set != NULL ? &bits : NULL,
			  ret_old, sizeof(bits));
	if (err == 0 && set != NULL)
		apply(how, *ret_old, bits, &t->sigmask);
	return err;
}

int wf_mask_change(int how, const uint64_t *set, uint64_t *ret_old)
{
	struct wf_thread *t = wf_thread_self();
	uint64_t old = t->sigmask, mask = old;
	uint64_t told = old & ~WF_SIGNAL_UNBLOCKABLE;
	int err = 0;

	if (t->carrier == NULL)
		return change_native(t, how, set, ret_old);
	if (set != NULL && apply(how, old, *set, &mask) < 0)
		return -EINVAL;
	/* Writes ret_old before the change: once the signals of a fault are
	 * blocked, the write costs a system call (MEMORY-2 in memory.c). */
	if (ret_old != NULL)
		err = wf_memory_put(ret_old, &told, sizeof(told));
	wf_runtime_enter();
	old = t->sigmask;
	if (set != NULL)
		apply(how, old, *set, &mask);
	if (mask != old) {
		wf_mask_set_locked(t, mask);
		wf_carrier_set_mask(t->carrier, mask);
	}
	wf_runtime_leave(t);
	return err;
}

void wf_mask_keep_raised(int sig)
{
	const uint64_t set = WF_SIGNAL_BIT(sig);
	const struct timespec now = { 0, 0 };
	struct wf_thread *t = wf_self;
	siginfo_t info;

	/* MASK-4. Before the thread enters the runtime, since it may leave it
	 *     on another carrier. */
	if (t == NULL || t->carrier == NULL || (t->sigmask & set) == 0 ||
	    wf_sys(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
		return;
	wf_runtime_enter();
	wf_routing_to_thread(t, t, &info);
	wf_runtime_leave(t);
}

static void leave_blocked(struct wf_thread *t)
{
	if (t->carrier != NULL)
		wf_routing_leave_to_kernel(t->sigmask &
					   wf_signal_receiver_takes());
}

void wf_mask_leave_blocked(void)
{
	struct wf_thread *t = wf_runtime_enter();

	leave_blocked(t);
	wf_runtime_leave(t);
}

uint64_t wf_mask_pending(void)
{
	struct wf_thread *t = wf_runtime_enter();
	uint64_t pending = 0;

	leave_blocked(t);
	wf_signal_receiver_settle();
	wf_sys(SYS_rt_sigpending, &pending, 8);
	if (t->carrier != NULL) {
		pending |= wf_sigqueue_pending(&t->sigqueue);
		pending |= wf_sigqueue_pending(&wf_routing_process);
		pending &= t->sigmask;
	}
	wf_runtime_leave(t);
	return pending & ~WF_SIGNAL_UNBLOCKABLE;
}

static bool is_on(const struct wf_thread *t, uintptr_t sp)
{
	return t->altstack.size != 0 && sp >= (uintptr_t)t->altstack.sp &&
	       sp - (uintptr_t)t->altstack.sp < t->altstack.size;
}

int wf_altstack_change(const stack_t *ss, stack_t *ret_old)
{
	struct wf_thread *t = wf_thread_self();
	bool on = is_on(t, (uintptr_t)__builtin_frame_address(0));
	stack_t old = { t->altstack.sp, t->altstack.flags, t->altstack.size };
	stack_t new;

	if (t->carrier == NULL || t->has_native_signals)
		return (int)wf_sys(SYS_sigaltstack, ss, ret_old);
	if (ss != NULL && wf_memory_get(&new, ss, sizeof(new)) < 0)
		return -EFAULT;
	if (on)
		old.ss_flags |= SS_ONSTACK;
	if (ss != NULL) {
		int mode = new.ss_flags & ~INT_MIN; /* SS_AUTODISARM */

		if (on)
			return -EPERM;
		if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
			return -EINVAL;
		if (mode != SS_DISABLE && new.ss_size < 2048)
			return -ENOMEM;
		t->altstack.flags = mode == SS_DISABLE ? SS_DISABLE :
							 new.ss_flags & ~1;
		t->altstack.sp = mode == SS_DISABLE ? NULL : new.ss_sp;
		t->altstack.size = mode == SS_DISABLE ? 0 : new.ss_size;
	}
	return ret_old != NULL ? wf_memory_put(ret_old, &old, sizeof(old)) : 0;
}
