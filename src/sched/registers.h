/* SPDX-License-Identifier: MIT */
/*
 * Registers that the kernel keeps for each of its threads, and that a program
 * writes without a call: rights by protection key (PKRU) and the base of the gs
 * segment (wrgsbase). A switch of threads exchanges them once some thread of
 * the program uses them; before, they are the same everywhere.
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
	WF_REGISTERS_KEYS = 1 << 0,	 /* sched/keys.h has begun */
	WF_REGISTERS_GS = 1 << 1,	 /* a thread has had a gs base */
	WF_REGISTERS_NO_GSBASE = 1 << 2, /* user code cannot read or write it */
	WF_REGISTERS_CLOCK = 1 << 3, /* CPU time counts (sched/cpu_time.h) */
};

/* enum wf_registers; bits are set and never cleared. */
extern _Atomic uint32_t wf_registers;

/* When the runtime starts: may user code use the instructions for gs? */
void wf_registers_init(bool has_gsbase);

/* A new kernel thread has those of its creator. */
void wf_registers_begin_carrier(void);

/* Slow halves of the below. */
void wf_registers_save_slow(const struct wf_thread *t);
void wf_registers_load_slow(const struct wf_thread *t);

/*
 * Is there anything to exchange, or CPU time to count? The caller's own gs base
 * may be the first.
 */
WF_INLINE bool wf_registers_are_used(void)
{
	return wf_load_relaxed(&wf_registers) != 0 || wf_cpu_gs_base() != 0;
}

/* t, the caller, is about to stop; or it creates t, which gets the same. */
WF_INLINE void wf_registers_save(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_registers_are_used()))
		wf_registers_save_slow(t);
}

/* t goes on here. */
WF_INLINE void wf_registers_load(const struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_registers) != 0))
		wf_registers_load_slow(t);
}

#endif
