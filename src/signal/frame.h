/* SPDX-License-Identifier: MIT */
/*
 * Frames of interrupted threads. A preempted thread's frame, with its
 * extended state, is copied off the carrier's alternate stack into the
 * thread's save area; the thread resumes from there by rt_sigreturn, on any
 * carrier.
 */
#ifndef WEFT_SIGNAL_FRAME_H
#define WEFT_SIGNAL_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "sched/vp.h"

/*
 * Is there a save area for it? Where memory is limited there may be none. By t,
 * in a signal handler.
 */
bool wf_frame_may_save(const struct wf_thread *t, const ucontext_t *uc);

/* Saves the frame and makes t->ctx resume it. On the carrier's altstack. */
void wf_frame_save(struct wf_thread *t, const ucontext_t *uc);

/*
 * Marks the saved altstack invalid, so that rt_sigreturn leaves the carrier's
 * alone, whichever carrier that is.
 */
void wf_frame_poison_altstack(ucontext_t *uc);

/* Bytes of the extended state behind uc's fpregs. */
size_t wf_frame_fp_bytes(const ucontext_t *uc);

/* What the kernel has of ucontext_t: its signal set is one word. */
#define WF_FRAME_UC_BYTES (offsetof(ucontext_t, uc_sigmask) + 8)

static inline uint64_t *wf_frame_mask(ucontext_t *uc)
{
	return (uint64_t *)&uc->uc_sigmask;
}

/* Second half of the resumption, called by wf_arch_frame_resume. */
void wf_frame_resume(ucontext_t *uc);

#endif
