/* SPDX-License-Identifier: MIT */
/*
 * The part of wf_arch_copy that the fault handler runs. After a fault between
 * the first and the last load or store, the copy continues at its exit with
 * -EFAULT.
 */
#include "arch/memory.h"

#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern const char wf_arch_copy_first[] HIDDEN;
extern const char wf_arch_copy_last[] HIDDEN;
extern const char wf_arch_copy_faulted[] HIDDEN;

bool wf_arch_copy_fixup(ucontext_t *uc)
{
	greg_t *pc = &uc->uc_mcontext.gregs[REG_RIP];

	if ((uintptr_t)*pc < (uintptr_t)wf_arch_copy_first ||
	    (uintptr_t)*pc >= (uintptr_t)wf_arch_copy_last)
		return false;
	*pc = (greg_t)(uintptr_t)wf_arch_copy_faulted;
	return true;
}
