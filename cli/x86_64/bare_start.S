/* SPDX-License-Identifier: MIT */
/*
 * Where the command begins:
 *
 *     void wf_bare_start(void);
 *
 * in    rsp  argc, argv, envp and the auxiliary vector, aligned to 16
 *       rdx  what libc's start is to call at exit
 *
 * frame, while wf_bare_main runs:
 *
 *     rsp + 16   argc ...
 *     rsp + 8    rdx
 *     rsp        alignment
 */
	.text
	.globl	wf_bare_start
	.type	wf_bare_start, @function
wf_bare_start:
	xorl	%ebp, %ebp		/* the outermost frame */
	movq	%rsp, %rdi
	pushq	%rdx
	subq	$8, %rsp
	call	wf_bare_main		/* does not return if all is well */
	addq	$8, %rsp
	popq	%rdx
	jmp	_start			/* as if nothing had been */
	.size	wf_bare_start, . - wf_bare_start
	.section .note.GNU-stack, "", @progbits
