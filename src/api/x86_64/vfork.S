/* SPDX-License-Identifier: MIT */
/*
 *	pid_t vfork(void);
 *
 * The child returns from here on its parent's stack, and overwrites the return
 * address there. So parent and child keep the address in rdi, which the system
 * call does not change.
 */
	.text
	.globl	vfork, __vfork
	.type	vfork, @function
	.type	__vfork, @function
	.p2align 4
vfork:
__vfork:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	wf_api_vfork_begin
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	testb	%al, %al
	je	fork@PLT
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rdi
	movl	$58, %eax		/* vfork */
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	movq	%rax, %rdi
	testq	%rax, %rax
	jne	wf_api_vfork_end	/* the parent, or a failure */
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	wf_vfork_enter_child
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	vfork, . - vfork
	.size	__vfork, . - __vfork

	.section .note.GNU-stack, "", @progbits
