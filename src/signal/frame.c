/* SPDX-License-Identifier: MIT */
/*
 * Copies the frame that the kernel has built on the carrier's alternate stack
 * into the thread's save area, and lets t->ctx point to it. When the thread is
 * picked again, wf_frame_resume runs on the save area and resumes the frame.
 *
 * FRAME-1. From the store of in_runtime 0 to rt_sigreturn all signals are
 *     blocked, the preemption signal too. The kernel opens the mask and resumes
 *     the thread in one step. If signals were open before, one could interrupt
 *     weft's code on the save area with in_runtime 0.
 */
#include "signal/frame.h"

#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/deliver.h"

/*
 * The legacy area is the first part of the frame's floating-point state. It
 * says how many bytes follow it.
 */
enum { FP_LEGACY_BYTES = 512, FP_MAGIC_OFFSET = 464, FP_SIZE_OFFSET = 468 };
#define FP_MAGIC 0x46505853U

/* A value that no combination of SS_ flags has. */
#define ALTSTACK_INVALID 0x1234

size_t wf_frame_fp_bytes(const ucontext_t *uc)
{
	const char *fp = (const char *)uc->uc_mcontext.fpregs;
	uint32_t magic, bytes;

	if (fp == NULL)
		return 0;
	memcpy(&magic, fp + FP_MAGIC_OFFSET, 4);
	memcpy(&bytes, fp + FP_SIZE_OFFSET, 4);
	return magic == FP_MAGIC ? bytes : FP_LEGACY_BYTES;
}

void wf_frame_poison_altstack(ucontext_t *uc)
{
	uc->uc_stack.ss_flags = ALTSTACK_INVALID;
}

static uintptr_t stack_pointer(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

bool wf_frame_may_save(const struct wf_thread *t, const ucontext_t *uc)
{
	return wf_slot_save_for(&t->slot, stack_pointer(uc)) != NULL;
}

void wf_frame_save(struct wf_thread *t, const ucontext_t *uc)
{
	size_t fp_bytes = wf_frame_fp_bytes(uc);
	uintptr_t top =
		(uintptr_t)wf_slot_save_for(&t->slot, stack_pointer(uc));
	uintptr_t fp = (top - fp_bytes) & ~63UL;
	uintptr_t copy = (fp - WF_FRAME_UC_BYTES) & ~63UL;
	ucontext_t *to = (ucontext_t *)copy;

	WF_CHECK(top - copy + WF_PAGE < wf_slot_save_bytes(),
		 "a signal frame is larger than AT_MINSIGSTKSZ says");
	memcpy(to, uc, WF_FRAME_UC_BYTES);
	if (fp_bytes > 0) {
		memcpy((void *)fp, uc->uc_mcontext.fpregs, fp_bytes);
		to->uc_mcontext.fpregs = (fpregset_t)fp;
	}
	t->ctx.sp = wf_arch_context_at(to, wf_arch_frame_resume,
				       WF_ARCH_FP_CONTROL_INITIAL);
}

void wf_frame_resume(ucontext_t *uc)
{
	struct wf_thread *t = wf_self;

	wf_switch_finish(t);
	wf_os_set_signal_mask(UINT64_MAX); /* FRAME-1: until rt_sigreturn */
	wf_deliver_before_sigreturn(t, uc);
	*wf_frame_mask(uc) = t->sigmask & ~WF_PREEMPT_BIT;
	wf_carrier_note_mask(t->carrier, t->sigmask);
	wf_frame_poison_altstack(uc);
	wf_store_release(&t->in_runtime, 0);
}
