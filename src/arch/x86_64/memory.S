/* SPDX-License-Identifier: MIT */
/*
 * Copies memory that may not be mapped.
 *
 *	int wf_arch_copy(void *to, const void *from, size_t bytes);
 *	eax              rdi       rsi               rdx
 *
 * Copies words, then the rest by bytes: most copies are one or two words. Any
 * instruction between wf_arch_copy_first and wf_arch_copy_last may fault. Then
 * wf_arch_copy_fixup makes the signal handler continue at wf_arch_copy_faulted.
 */
#include <asm/errno.h>

	.text
	.globl	wf_arch_copy
	.hidden	wf_arch_copy
	.type	wf_arch_copy, @function
	.p2align 5
wf_arch_copy:
	.cfi_startproc
	movq	%rdx, %rcx
	andl	$7, %edx		/* bytes of the rest */
	shrq	$3, %rcx		/* words */
	je	2f
	.globl	wf_arch_copy_first
	.hidden	wf_arch_copy_first
wf_arch_copy_first:
1:	movq	(%rsi), %rax
	movq	%rax, (%rdi)
	addq	$8, %rsi
	addq	$8, %rdi
	decq	%rcx
	jne	1b
2:	testl	%edx, %edx
	je	4f
3:	movb	(%rsi), %al
	movb	%al, (%rdi)
	incq	%rsi
	incq	%rdi
	decl	%edx
	jne	3b
	.globl	wf_arch_copy_last
	.hidden	wf_arch_copy_last
wf_arch_copy_last:
4:	xorl	%eax, %eax
	ret
	.globl	wf_arch_copy_faulted
	.hidden	wf_arch_copy_faulted
wf_arch_copy_faulted:
	movl	$-EFAULT, %eax
	ret
	.cfi_endproc
	.size	wf_arch_copy, . - wf_arch_copy

	.section .note.GNU-stack, "", @progbits
