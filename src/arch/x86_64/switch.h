/* SPDX-License-Identifier: MIT */
/*
 * Context switch, x86-64 System V ABI. Frame at the saved stack pointer, low to
 * high:
 *
 *	 0  mxcsr (4 bytes), x87 control word (2), unused (2)
 *	 8  rbp
 *	16  address at which execution continues
 *
 * rax carries the token from the switch that loads the frame to the code that
 * continues there. All other registers are clobbered: the compiler saves the
 * callee-saved ones in the frame of the function that switches, as it has to do
 * anyway for the registers that this function uses.
 *
 * The switch is inline, with jumps in place of call and return. The CPU
 * predicts returns by an internal stack of return addresses, and jumps leave
 * that as it is. So when a thread runs from its entry to its end between a call
 * and the return of another thread, no frame of the other is mispredicted.
 *
 * The function that switches calls other functions, too. So the compiler keeps
 * nothing below its stack pointer.
 *
 * The control words are stored after the thread register is loaded, since that
 * load waits for all instructions before it. By then the stack pointer is that
 * of the next context, but the frame is on the stack just left. No other thread
 * uses that stack before the incoming side calls the post function. No signal
 * handler uses it: a thread leaves the alternate stack only by wf_arch_leave.
 * The x87 word is nearly always the same on both sides, and a compare costs
 * less than a load.
 */
#ifndef WEFT_ARCH_X86_64_SWITCH_H
#define WEFT_ARCH_X86_64_SWITCH_H

#include <stdint.h>

#include "base/compiler.h"

/* The frame's fields and size in bytes, for readers of the stack. */
enum {
	WF_ARCH_FRAME_RBP = 8,
	WF_ARCH_FRAME_RIP = 16,
	WF_ARCH_FRAME_BYTES = 24,
};

#define WF_ARCH_CONTINUE     \
	"addq $8, %%rsp\n\t" \
	"popq %%rbp\n\t"     \
	"popq %%rcx\n\t"     \
	"jmpq *%%rcx\n"

WF_INLINE void *wf_arch_switch(void **save_sp, void *load_sp, uintptr_t load_tp,
			       void *token)
{
	__asm__ volatile(
		"leaq 1f(%%rip), %%rcx\n\t"
		"pushq %%rcx\n\t"
		"pushq %%rbp\n\t"
		"subq $8, %%rsp\n\t"
		"movq %%rsp, %%r8\n\t"
		"movq %%rsp, (%0)\n\t"
		"movq %1, %%rsp\n\t"
		"wrfsbase %2\n\t"
		"stmxcsr (%%r8)\n\t"
		"fnstcw 4(%%r8)\n\t"
		"movzwl 4(%%r8), %%ecx\n\t"
		"ldmxcsr (%%rsp)\n\t"
		"cmpw 4(%%rsp), %%cx\n\t"
		"je 2f\n\t"
		"fldcw 4(%%rsp)\n"
		"2:\n\t" WF_ARCH_CONTINUE "1:"
		: "+D"(save_sp), "+S"(load_sp), "+d"(load_tp), "+a"(token)
		:
		: "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
		  "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
		  "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
		  "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
		  "st(5)", "st(6)", "st(7)", "cc", "memory");
	return token;
}

/* Loads a context. Writes nothing to the stack that it leaves. */
WF_NORETURN WF_INLINE void wf_arch_leave(void *load_sp, uintptr_t load_tp,
					 void *token)
{
	__asm__ volatile("movq %0, %%rsp\n\t"
			 "wrfsbase %1\n\t"
			 "ldmxcsr (%%rsp)\n\t"
			 "fldcw 4(%%rsp)\n\t" WF_ARCH_CONTINUE
			 :
			 : "S"(load_sp), "d"(load_tp), "a"(token)
			 : "memory");
	__builtin_unreachable();
}

#endif
