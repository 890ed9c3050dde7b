/* SPDX-License-Identifier: MIT */
/*
 * The interface of an architecture. Each architecture has a folder with cpu.h,
 * regs.h, switch.h and the functions that are declared here. The build files
 * choose the folder.
 *
 *     t->ctx = wf_arch_context_make(top, wf_arch_thread_entry, fp);
 *     me = wf_arch_switch(&me->ctx, t->ctx, t->slot.tcb, t);
 */
#ifndef WEFT_ARCH_ARCH_H
#define WEFT_ARCH_ARCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/switch.h"
#else
#error "weft has no port to this architecture yet"
#endif

/*
 *	void *wf_arch_switch(void **save_sp, void *load_sp, uintptr_t load_tp,
 *			     void *token)
 *
 * saves the frame pointer and the floating point control words on the current
 * stack and stores the stack pointer in *save_sp. Then it loads the stack
 * pointer load_sp and the thread register load_tp, and what was saved there.
 * Execution continues where the loaded context was saved. There the function
 * returns the token of the switch that loaded this context. So a thread that is
 * its own token need not be kept in memory meanwhile. The switch clobbers all
 * other registers, which the compiler knows. The caller has in_runtime set on
 * both sides, and is no leaf function.
 *
 *	wf_arch_leave(void *load_sp, uintptr_t load_tp, void *token)
 *
 * loads a context without saving the current one, which does not run again.
 *
 * wf_arch_switch_syscall is for a CPU or kernel without wrfsbase: it loads the
 * thread register by a system call.
 */
void *wf_arch_switch_syscall(void **save_sp, void *load_sp, uintptr_t load_tp,
			     void *token);

/*
 * The entry point of a new context: calls wf_upcall.thread_main, never returns.
 */
void wf_arch_thread_entry(void);

/*
 * Entered with the stack pointer at a saved signal frame: resumes that frame
 * (signal/frame.c).
 */
void wf_arch_frame_resume(void);

/*
 * Signal handlers for threads that compute with a foreign fs base (signal.S).
 * The kernel enters the two landings where user code may read and write the fs
 * base (wf_arch_keeps_fs). Each loads the thread register and continues in the
 * function that wf_arch_landings names. The foreign base is in the frame's
 * uc_link.
 */
enum { WF_ARCH_LANDING_SIGNAL, WF_ARCH_LANDING_PREEMPT, WF_ARCH_NR_LANDINGS };
extern bool wf_arch_keeps_fs;
extern void (*wf_arch_landings[WF_ARCH_NR_LANDINGS])(int, siginfo_t *, void *);
void wf_arch_signal_landing(int sig, siginfo_t *info, void *uc);
void wf_arch_preempt_landing(int sig, siginfo_t *info, void *uc);

/*
 * A mark at the lowest address of an alternate stack of WF_ARCH_ALTSTACK_BYTES:
 * it shows that the stack is a carrier's.
 */
struct wf_arch_mark {
	uint64_t magic; /* WF_ARCH_MARK_MAGIC */
	/* where the carrier keeps the thread register that it loaded last */
	const uintptr_t *tp;
};

/*
 * Signal handlers that weft installs return through this function
 * (sa_restorer).
 */
void wf_arch_sigreturn(void);

/*
 * Leaves the carrier's alternate stack, on which all signals are blocked, to
 * run a handler of the program. Loads sp, where the handler's return address
 * lies, sets the signal mask, then runs handler(sig, info, uc) with the
 * interrupted frame pointer.
 */
void wf_arch_signal_enter(void *sp, const uint64_t *mask, void *handler,
			  long sig, void *info, void *uc)
	__attribute__((noreturn));

/*
 * Handlers return to this function, with the stack pointer at the frame's
 * ucontext. It calls wf_upcall.signal_return(uc), then rt_sigreturn. Its call
 * frame information leads unwinders to the interrupted context.
 */
void wf_arch_signal_return(void);

/*
 * Writes a frame below `top` from which wf_arch_switch starts `entry` like a
 * called function. The stack is aligned and the control words are fp_control.
 * Returns the frame's stack pointer.
 */
void *wf_arch_context_make(void *top, void (*entry)(void), uint64_t fp_control);

/*
 * As wf_arch_context_make, but when entry begins the stack pointer is exactly
 * `sp`.
 */
void *wf_arch_context_at(void *sp, void (*entry)(void), uint64_t fp_control);

/*
 * The clone system call with a thread register. The child runs fn(arg), which
 * never returns, on the new stack. `clear` is for CLONE_CHILD_CLEARTID, or
 * NULL. Returns the tid or -Exxx. libc's clone() cannot be used, since
 * sanitizers replace it.
 */
long wf_arch_clone(unsigned long flags, void *stack_top, uintptr_t tp,
		   void (*fn)(void *), void *arg, _Atomic uint32_t *clear);

#endif
