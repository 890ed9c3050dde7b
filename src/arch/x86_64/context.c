/* SPDX-License-Identifier: MIT */
/*
 * Makes the frames from which the switch starts a new thread.
 */
#include "arch/arch.h"

/* A frame as switch.h describes it. */
struct switch_frame {
	uint32_t mxcsr;
	uint16_t x87_control;
	uint16_t unused;
	uint64_t rbp;
	void (*entry)(void);
};

void *wf_arch_context_at(void *sp, void (*entry)(void), uint64_t fp_control)
{
	struct switch_frame *f = (struct switch_frame *)sp - 1;

	*f = (struct switch_frame){
		.mxcsr = (uint32_t)fp_control,
		.x87_control = (uint16_t)(fp_control >> 32),
		.entry = entry,
	};
	return f;
}

void *wf_arch_context_make(void *top, void (*entry)(void), uint64_t fp_control)
{
	uintptr_t aligned = ((uintptr_t)top & ~63UL) - 64;

	/* entry finds the stack as after a call: a return address lies below an
	 * aligned address. */
	return wf_arch_context_at((void *)(aligned - 8), entry, fp_control);
}
