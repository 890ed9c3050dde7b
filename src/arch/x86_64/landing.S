/* SPDX-License-Identifier: MIT */
/*
 * What compilers call where an exception, or libc's unwinding of a cancelled
 * thread, passes one of weft's own functions: the unwinder's
 *
 *	int __gcc_personality_v0(int version, int actions, uint64_t class,
 *				 void *exception, void *context);
 *	void _Unwind_Resume(void *exception);
 *
 * under these names, hidden. Each goes on in the real one, which
 * wf_unwinder_find (libc/unwinder.h) is asked for at the first call. Nothing
 * of the caller's is changed, since the real one looks at it.
 *
 * frame while it is asked: rdi, rsi, rdx, rcx, r8, return address.
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
