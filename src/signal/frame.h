/* SPDX-License-Identifier: MIT */
/*
 * Saves and resumes the frames of preempted threads. wf_frame_save copies the
 * frame with its extended state from the carrier's alternate stack into the
 * thread's save area. The thread resumes from there by rt_sigreturn, on any
 * carrier.
 *
 *     if (wf_frame_may_save(t, uc))
 *             wf_frame_save(t, uc);
 */
#ifndef WEFT_SIGNAL_FRAME_H
#define WEFT_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "sched/vp.h"

/*
 * True if t has a save area for the frame. With a memory limit it may have
 * none. Call it in a signal handler, on t.
 */
bool wf_frame_may_save(const struct wf_thread *t, const ucontext_t *uc);

/*
 * Saves the frame in uc and makes t->ctx resume it. Call it on the carrier's
 * alternate stack.
 */
void wf_frame_save(struct wf_thread *t, const ucontext_t *uc);

/*
 * Marks the alternate stack in the frame invalid. rt_sigreturn then keeps the
 * alternate stack of the carrier on which it runs.
 */
void wf_frame_poison_altstack(ucontext_t *uc);

/* The size of the extended state at uc's fpregs, in bytes. */
size_t wf_frame_fp_bytes(const ucontext_t *uc);

/* The size of the kernel's ucontext_t in bytes: its signal set is one word. */
#define WF_FRAME_UC_BYTES (offsetof(ucontext_t, uc_sigmask) + 8)

static inline uint64_t *wf_frame_mask(ucontext_t *uc)
{
	return (uint64_t *)&uc->uc_sigmask;
}

/*
 * Second half of resuming a frame. wf_arch_frame_resume calls it on the save
 * area.
 */
void wf_frame_resume(ucontext_t *uc);

#endif
