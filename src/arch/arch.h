/* SPDX-License-Identifier: MIT */
/*
 * What an architecture provides. Each one has a folder with cpu.h, the
 * assembly routines declared here and nothing else; build files choose it.
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
 *	wf_arch_switch(void **save_sp, void *load_sp, uintptr_t load_tp)
 *
 * saves the callee-saved registers and the floating point control words on
 * the current stack, stores the stack pointer in *save_sp, takes over load_sp
 * and the thread register load_tp, restores what was saved there and goes on
 * where that was saved. The caller has in_runtime set on both sides.
 *
 *	wf_arch_leave(void *load_sp, uintptr_t load_tp)
 *
 * takes over without saving anything: nobody comes back.
 *
 * The first for a CPU or kernel without wrfsbase: by a system call.
 */
void wf_arch_switch_syscall(void **save_sp, void *load_sp, uintptr_t load_tp);

/* Entry point of a made-up context: calls wf_thread_main, never returns. */
void wf_arch_thread_entry(void);

/* Resumes the signal frame that lies at the stack pointer (signal/frame.c). */
void wf_arch_frame_resume(void);

/*
 * Signals while a thread computes on an fs base of its own (signal.S). The two
 * landings are what the kernel enters, where user code may read and write fs
 * base (wf_arch_keeps_fs); each loads the thread register and goes on in the
 * function that wf_arch_landings names. A frame's uc_link is the foreign base.
 */
enum { WF_ARCH_LANDING_SIGNAL, WF_ARCH_LANDING_PREEMPT, WF_ARCH_NR_LANDINGS };
extern bool wf_arch_keeps_fs;
extern void (*wf_arch_landings[WF_ARCH_NR_LANDINGS])(int, siginfo_t *, void *);
void wf_arch_signal_landing(int sig, siginfo_t *info, void *uc);
void wf_arch_preempt_landing(int sig, siginfo_t *info, void *uc);

/* At the lowest address of an alternate stack of WF_ARCH_ALTSTACK_BYTES. */
struct wf_arch_mark {
	uint64_t magic;	     /* WF_ARCH_MARK_MAGIC */
	const uintptr_t *tp; /* the thread register that was loaded last */
};

/* The restorer of the signal handlers that weft installs. */
void wf_arch_sigreturn(void);

/*
 * Leaves the carrier's alternate stack, where everything is blocked: takes
 * over sp, at which a handler's return address lies, sets the signal mask,
 * then runs handler(sig, info, uc) with the interrupted frame pointer.
 */
void wf_arch_signal_enter(void *sp, const uint64_t *mask, void *handler,
			  long sig, void *info, void *uc)
	__attribute__((noreturn));

/*
 * Where handlers return to, with the stack pointer at the frame's ucontext:
 * calls wf_signal_return(uc), then rt_sigreturn. Unwinders find the
 * interrupted context through its call frame information.
 */
void wf_arch_signal_return(void);

/*
 * Lays a frame under `top` from which wf_arch_switch starts `entry` as a
 * function that was called, on an aligned stack and with the given control
 * words; returns its sp.
 */
void *wf_arch_context_make(void *top, void (*entry)(void), uint64_t fp_control);

/* The same with the stack pointer at `sp` exactly when entry begins. */
void *wf_arch_context_at(void *sp, void (*entry)(void), uint64_t fp_control);

/*
 * The clone system call with a thread register, running fn(arg), which never
 * returns, on the new stack. `clear` is for CLONE_CHILD_CLEARTID, or NULL.
 * Returns the tid or -Exxx. libc's clone() would do, were it not taken over by
 * sanitizers.
 */
long wf_arch_clone(unsigned long flags, void *stack_top, uintptr_t tp,
		   void (*fn)(void *), void *arg, _Atomic uint32_t *clear);

#endif
