/* SPDX-License-Identifier: MIT */
/*
 *	long syscall(long nr, ...);
 *	rdi nr, rsi rdx rcx r8 r9 and 8(%rsp): up to six arguments
 *
 * The seventh argument's slot belongs to the caller, who may not have passed
 * one and keeps a local there: a C function that is entered by a jump could
 * write to it. So it is copied into a frame of this stub's own.
 */
	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	pushq	8(%rsp)			/* seventh argument, our own copy */
	.cfi_adjust_cfa_offset 8	/* and the stack is aligned again */
	call	wf_api_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
