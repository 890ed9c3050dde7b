/* SPDX-License-Identifier: MIT */
/*
 * The ways from the kernel into weft's signal handlers, from there into the
 * program's handlers, and back.
 *
 * A thread may compute with a foreign fs base: an emulator loads the base of
 * the program that it runs, and makes no call meanwhile. The kernel does not
 * change the base when it enters a handler, but weft's code needs the thread's
 * own base, its TCB. So the landing saves the foreign base in uc_link of the
 * frame (offset 8). The kernel writes 0 there, and 0 means none. The last
 * instructions before rt_sigreturn, or before a handler of the program, load it
 * again.
 */
#include "base/upcall.h"

	.text

/*
 * Loads the fs base from uc_link of the ucontext at \uc, unless that is 0. Uses
 * rax.
 */
	.macro LOAD_FOREIGN uc
	movq	8(\uc), %rax
	testq	%rax, %rax
	je	99f
	wrfsbase %rax
99:
	.endm

/*
 *	void wf_arch_signal_landing(int sig, siginfo_t *info, ucontext_t *uc);
 *	void wf_arch_preempt_landing(the same);
 *	                             rdi     rsi             rdx
 *
 * The kernel enters these where user code may read the fs base. Each continues
 * in the C function in its slot of wf_arch_landings. A carrier's alternate
 * stack (uc_stack: 16 address, 32 size) has a mark at its lowest address, a
 * struct wf_arch_mark. Its fields: at 0 the magic, at 8 the address of the
 * thread register that the carrier has loaded last. Any other base is foreign.
 */
	.macro LANDING name, slot
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	movq	wf_arch_landings+\slot(%rip), %r11
	cmpq	$65472, 32(%rdx)	/* WF_ARCH_ALTSTACK_BYTES */
	jne	1f
	movq	16(%rdx), %r10
	testq	%r10, %r10
	je	1f
	movabsq	$0x77656674616c7473, %rax /* WF_ARCH_MARK_MAGIC */
	cmpq	%rax, (%r10)
	jne	1f
	movq	8(%r10), %r10
	movq	(%r10), %r10
	rdfsbase %rax
	cmpq	%rax, %r10
	jne	2f
1:	jmp	*%r11
2:	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	movq	%rdx, %rbx
	movq	%rax, 8(%rdx)
	wrfsbase %r10
	call	*%r11
	LOAD_FOREIGN %rbx
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	LANDING wf_arch_signal_landing, 0
	LANDING wf_arch_preempt_landing, 8

/*
 *	void wf_arch_signal_enter(void *sp, const uint64_t *mask,
 *	                          rdi       rsi
 *	             void *handler, long sig, void *info, void *uc);
 *	             rdx            rcx       r8          r9
 *
 * When the mask is set, further signals may come: by then the whole stack is
 * set up. The handler reads a uc_link of 0, as natively.
 */
	.globl	wf_arch_signal_enter
	.hidden	wf_arch_signal_enter
	.type	wf_arch_signal_enter, @function
	.p2align 4
wf_arch_signal_enter:
	movq	%rdi, %rsp
	movq	%rdx, %r12
	movq	%rcx, %r13
	movq	%r8, %r14
	movq	%r9, %r15
	movq	120(%r9), %rbp		/* uc's rbp, for frame pointer walks */
	LOAD_FOREIGN %r9
	movq	$0, 8(%r9)
	movl	$2, %edi		/* SIG_SETMASK */
	xorl	%edx, %edx
	movl	$8, %r10d
	movl	$14, %eax		/* rt_sigprocmask */
	syscall
	movq	%r13, %rdi
	movq	%r14, %rsi
	movq	%r15, %rdx
	xorl	%eax, %eax
	jmp	*%r12
	.size	wf_arch_signal_enter, . - wf_arch_signal_enter

/*
 * Entered with the stack pointer at uc. Registers lie in uc from offset 40: r8
 * to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. The call frame
 * information describes that to unwinders. The S in it means that the return
 * address needs no correction. Unwinders search one byte before that address,
 * and find the nop.
 */
	/* DW_CFA_expression reg: breg7 (rsp) + offset, a signed LEB128. */
	.macro SAVED reg, offset
	.if \offset < 64
	.cfi_escape 0x10, \reg, 2, 0x77, \offset
	.else
	.cfi_escape 0x10, \reg, 3, 0x77, (\offset & 127) | 128, \offset >> 7
	.endif
	.endm

	.globl	wf_arch_signal_return
	.hidden	wf_arch_signal_return
	.type	wf_arch_signal_return, @function
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* CFA: *(rsp + 160) */
	SAVED	8, 40
	SAVED	9, 48
	SAVED	10, 56
	SAVED	11, 64
	SAVED	12, 72
	SAVED	13, 80
	SAVED	14, 88
	SAVED	15, 96
	SAVED	5, 104			/* rdi */
	SAVED	4, 112			/* rsi */
	SAVED	6, 120			/* rbp */
	SAVED	3, 128			/* rbx */
	SAVED	1, 136			/* rdx */
	SAVED	0, 144			/* rax */
	SAVED	2, 152			/* rcx */
	SAVED	7, 160			/* rsp */
	SAVED	16, 168			/* rip */
	nop
wf_arch_signal_return:
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	cmpb	$0, wf_arch_keeps_fs(%rip)
	je	1f
	rdfsbase %rax			/* the base that the handler leaves */
	movq	304(%rsp), %rcx		/* WF_ARCH_FRAME_TP: the TCB */
	cmpq	%rax, %rcx
	je	1f
	movq	%rax, 8(%rsp)
	wrfsbase %rcx
1:	call	*wf_upcall+WF_UPCALL_SIGNAL_RETURN(%rip)
	movq	%rbx, %rsp
	LOAD_FOREIGN %rbx
	movl	$15, %eax		/* rt_sigreturn */
	syscall
	hlt
	.cfi_endproc
	.size	wf_arch_signal_return, . - wf_arch_signal_return

	.bss
	.globl	wf_arch_keeps_fs
	.hidden	wf_arch_keeps_fs
	.type	wf_arch_keeps_fs, @object
	.size	wf_arch_keeps_fs, 1
wf_arch_keeps_fs:
	.zero	1
	.p2align 3
	.globl	wf_arch_landings
	.hidden	wf_arch_landings
	.type	wf_arch_landings, @object
	.size	wf_arch_landings, 16
wf_arch_landings:
	.zero	16

	.section .note.GNU-stack, "", @progbits
