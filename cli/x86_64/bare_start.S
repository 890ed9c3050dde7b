/* SPDX-License-Identifier: MIT */
/*
 * The entry point of the command:
 *
 *     void wf_bare_start(void);
 *
 * in    rsp  argc, argv, envp and the auxiliary vector, aligned to 16
 *       rdx  the function that libc registers for exit
 *
 * Frame during wf_bare_main:
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
	call	wf_bare_main		/* becomes the program, or returns */
	addq	$8, %rsp
	popq	%rdx
	jmp	_start			/* libc starts as usual */
	.size	wf_bare_start, . - wf_bare_start
	.section .note.GNU-stack, "", @progbits
