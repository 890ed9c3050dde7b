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
	movq	8(%rsp), %rax
	subq	$8, %rsp		/* the stack is aligned at the call */
	.cfi_adjust_cfa_offset 8
	pushq	%rax			/* seventh argument, our own copy */
	.cfi_adjust_cfa_offset 8
	call	wf_api_syscall
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	ret
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
