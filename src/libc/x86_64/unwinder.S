/* SPDX-License-Identifier: MIT */
/*
 * The functions that compilers call when an exception, or libc's unwinding of a
 * cancelled thread, passes a function of weft:
 *
 *	int __gcc_personality_v0(int version, int actions, uint64_t class,
 *				 void *exception, void *context);
 *	void _Unwind_Resume(void *exception);
 *
 * Here they are hidden and only forward. At the first call each gets the real
 * function from wf_unwinder_find (libc/unwinder.h). Then it jumps there with
 * the caller's registers and frame unchanged, since the real function reads
 * them.
 *
 * Frame during wf_unwinder_find: rdi, rsi, rdx, rcx, r8, return address.
 */
	.macro	forward name
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	.cfi_startproc
	movq	.Lreal_\name(%rip), %rax
	testq	%rax, %rax
	je	1f
	jmpq	*%rax
1:	pushq	%r8
	.cfi_adjust_cfa_offset 8
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	leaq	.Lname_\name(%rip), %rdi
	call	wf_unwinder_find
	movq	%rax, .Lreal_\name(%rip)	/* always the same */
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	popq	%r8
	.cfi_adjust_cfa_offset -8
	jmpq	*%rax
	.cfi_endproc
	.size	\name, . - \name

	.section .rodata
.Lname_\name:
	.asciz	"\name"
	.local	.Lreal_\name
	.comm	.Lreal_\name, 8, 8
	.text
	.endm

	.text
	forward	__gcc_personality_v0
	forward	_Unwind_Resume

	.section .note.GNU-stack, "", @progbits
