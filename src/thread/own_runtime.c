/* SPDX-License-Identifier: MIT */
/*
 * Go's runtime identifies a thread by its kernel thread. It sets the alternate
 * stack, asks for the id and signals that id by system calls that are compiled
 * into it. It runs its handlers on that stack, and aborts if they run on
 * another one. So weft binds a thread that enters Go.
 *
 * OWN_RUNTIME-1. Such a thread owns its kernel thread. The kernel's alternate
 *     stack is the thread's, not the carrier's. Its handlers run where the
 *     kernel enters them, as in foreign threads (signal/foreign.c).
 * OWN_RUNTIME-2. weft binds the thread before Go reads its state. Go first asks
 *     libc for the thread's stack (pthread_getattr_np, since Go 1.21), and weft
 *     binds it there.
 *
 * By then Go has blocked all signals, without a call of libc. So weft reads the
 * kernel's mask, and sets it again on the kernel thread to which the thread
 * moves.
 */
#include "thread/own_runtime.h"

#include <signal.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "thread/kernel_state.h"

/*
 * Gives the kernel thread the stack that the program has set by sigaltstack, or
 * none.
 */
static void take_altstack(const struct wf_thread *t)
{
	stack_t ss = { .ss_flags = SS_DISABLE };

	if ((t->altstack.flags & SS_DISABLE) == 0 && t->altstack.sp != NULL) {
		ss.ss_sp = t->altstack.sp;
		ss.ss_size = t->altstack.size;
		ss.ss_flags = t->altstack.flags;
	}
	wf_sys(SYS_sigaltstack, &ss, NULL);
}

void wf_own_runtime_enter(void)
{
	struct wf_thread *t = wf_thread_self();
	uint64_t mask;

	if (t->has_native_signals)
		return;
	if (!wf_is_started()) {
		/*
		 * The first thread keeps its kernel thread and alternate stack
		 * when the runtime starts.
		 */
		t->has_native_signals = true;
		wf_kernel_state_note_own();
		return;
	}
	if (t->carrier == NULL)
		return; /* foreign threads own theirs */
	mask = wf_os_get_signal_mask();
	wf_runtime_enter();
	/* UNKNOWN: the next thread on this carrier sets the mask again. */
	t->carrier->kernel_mask = WF_MASK_UNKNOWN;
	wf_runtime_leave(t);
	if (wf_kernel_state_begin(WF_BOUND_OWN_RUNTIME) < 0)
		return;
	wf_kernel_state_end_own_for(t);
	wf_os_set_signal_mask(UINT64_MAX);
	take_altstack(t);
	t->has_native_signals = true;
	wf_os_set_signal_mask(mask);
}
