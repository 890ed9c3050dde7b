/* SPDX-License-Identifier: MIT */
/*
 *	void switch_with(const struct saved *in,	rdi
 *			 struct saved *ret_out,		rsi
 *			 void **save_sp, void *load_sp,	rdx, rcx
 *			 uintptr_t load_tp,		r8
 *			 switch_fn *fn);		r9
 *
 * Loads *in into everything that a call has to preserve and calls fn(save_sp,
 * load_sp, load_tp, in->token). When that returns it stores in *ret_out what it
 * finds and what fn has returned.
 *
 * Frame at the call: 0 own mxcsr and x87 control word, 16 ret_out, 24 r15 r14
 * r13 r12 rbp rbx, return address.
 */
	.set	MXCSR, 48
	.set	X87_CONTROL, 52
	.set	FLAGS, 56
	.set	TOKEN, 64

	.text
	.globl	switch_with
	.type	switch_with, @function
	.p2align 4
switch_with:
	.cfi_startproc
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rsi
	subq	$16, %rsp
	.cfi_adjust_cfa_offset 72
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)

	movq	0(%rdi), %rbx
	movq	8(%rdi), %rbp
	movq	16(%rdi), %r12
	movq	24(%rdi), %r13
	movq	32(%rdi), %r14
	movq	40(%rdi), %r15
	ldmxcsr	MXCSR(%rdi)
	fldcw	X87_CONTROL(%rdi)
	movq	TOKEN(%rdi), %r10
	movq	%rdx, %rdi
	movq	%rcx, %rsi
	movq	%r8, %rdx
	movq	%r10, %rcx
	call	*%r9

	movq	%rax, %rcx
	movq	16(%rsp), %rax
	movq	%rcx, TOKEN(%rax)
	movq	%rbx, 0(%rax)
	movq	%rbp, 8(%rax)
	movq	%r12, 16(%rax)
	movq	%r13, 24(%rax)
	movq	%r14, 32(%rax)
	movq	%r15, 40(%rax)
	stmxcsr	MXCSR(%rax)
	fnstcw	X87_CONTROL(%rax)
	pushfq
	popq	FLAGS(%rax)
	cld

	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	addq	$24, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -72
	ret
	.cfi_endproc
	.size	switch_with, . - switch_with

/*
 * Entry of a new context: stores the registers in `found` and continues in C.
 * Only the ABI's promises hold, so the stack is aligned for the call.
 */
	.globl	probe_entry
	.type	probe_entry, @function
	.p2align 4
probe_entry:
	movq	%rsp, found(%rip)
	pushfq
	popq	found + 8(%rip)
	stmxcsr	found + 16(%rip)
	fnstcw	found + 20(%rip)
	movq	%fs:0, %rax
	movq	%rax, found + 24(%rip)
	andq	$-16, %rsp
	call	probe_main
	hlt
	.size	probe_entry, . - probe_entry

	.section .note.GNU-stack, "", @progbits
