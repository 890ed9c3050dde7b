/* SPDX-License-Identifier: MIT */
/*
 *	long syscall(long nr, ...);
 *	rdi nr, rsi rdx rcx r8 r9 and 8(%rsp): up to six arguments
 *
 * The slot of the seventh argument is the caller's. If the caller passes fewer
 * arguments, it may have a local variable there. A C function that this stub
 * jumped to could write to the slot. So the stub copies it into a frame, and
 * calls.
 */
	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	pushq	8(%rsp)			/* a copy of the seventh argument */
	.cfi_adjust_cfa_offset 8	/* the stack is aligned again */
	call	wf_api_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
