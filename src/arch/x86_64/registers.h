/* SPDX-License-Identifier: MIT */
/*
 * x86-64: the registers with which a stack is walked. For the library, and for
 * readers outside the process.
 *
 *     struct wf_arch_registers r =
 *             wf_arch_registers_of(uc->uc_mcontext.gregs);
 */
#ifndef WEFT_ARCH_X86_64_REGISTERS_H
#define WEFT_ARCH_X86_64_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

struct wf_arch_registers {
	uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
};

/* Takes them out of a signal frame's registers (NGREG of them). */
static inline struct wf_arch_registers wf_arch_registers_of(const greg_t *g)
{
	return (struct wf_arch_registers){
		.rip = (uint64_t)g[REG_RIP],
		.rsp = (uint64_t)g[REG_RSP],
		.rbp = (uint64_t)g[REG_RBP],
		.rbx = (uint64_t)g[REG_RBX],
		.r12 = (uint64_t)g[REG_R12],
		.r13 = (uint64_t)g[REG_R13],
		.r14 = (uint64_t)g[REG_R14],
		.r15 = (uint64_t)g[REG_R15],
	};
}

#endif
