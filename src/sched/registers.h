/* SPDX-License-Identifier: MIT */
/*
 * CPU registers that the kernel keeps per kernel thread and that a program
 * writes without a call. They are the rights by protection key (PKRU) and the
 * base of the gs segment (wrgsbase). A switch of threads exchanges them once
 * some thread of the program uses them. Before, all threads have the same
 * values.
 *
 *     if (wf_registers_are_used())
 *             wf_registers_save(t);          the outgoing thread
 *     ...
 *     wf_registers_load(t);                  the incoming one
 */
#ifndef WEFT_SCHED_REGISTERS_H
#define WEFT_SCHED_REGISTERS_H

#include "arch/arch.h"
#include "sched/thread.h"

enum wf_registers {
	WF_REGISTERS_KEYS = 1 << 0,	 /* keys are exchanged (sched/keys.h) */
	WF_REGISTERS_GS = 1 << 1,	 /* a thread has had a gs base */
	WF_REGISTERS_NO_GSBASE = 1 << 2, /* user code cannot read or write it */
	/* CPU time is counted (sched/cpu_time.h) */
	WF_REGISTERS_CLOCK = 1 << 3,
};

/* Bits of enum wf_registers, which are set and never cleared. */
extern _Atomic uint32_t wf_registers;

/* Sets a bit, and makes each VP's switches call the functions below. */
void wf_registers_add(enum wf_registers use);

/*
 * Called when the runtime starts. has_gsbase: the program may read and write
 * the gs base without a system call.
 */
void wf_registers_init(bool has_gsbase);

/*
 * Called on a new kernel thread, which starts with its creator's registers:
 * clears the gs base.
 */
void wf_registers_begin_carrier(void);

/* The parts of the functions below that run once a bit is set. */
void wf_registers_save_slow(const struct wf_thread *t);
void wf_registers_load_slow(const struct wf_thread *t);

/*
 * True if a switch has registers to exchange or CPU time to count. Also true if
 * the caller is the first thread with a gs base.
 */
WF_INLINE bool wf_registers_are_used(void)
{
	return wf_load_relaxed(&wf_registers) != 0 || wf_cpu_gs_base() != 0;
}

/*
 * Saves t's registers. t is the caller and about to stop; or the caller creates
 * t, which starts with the caller's registers.
 */
WF_INLINE void wf_registers_save(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_registers_are_used()))
		wf_registers_save_slow(t);
}

/* Loads t's registers. t is about to run on this carrier. */
WF_INLINE void wf_registers_load(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_registers) != 0))
		wf_registers_load_slow(t);
}

#endif
