/* SPDX-License-Identifier: MIT */
/*
 * Looking at memory that may be gone.
 *
 *	const struct wf_arch_slot *
 *	wf_arch_slots_scan(const struct wf_arch_slot *from,
 *	                   rdi
 *	                   const struct wf_arch_slot *end);
 *	                   rsi
 *
 * A slot is four words: where to look, mask, old value, and one that is the
 * owner's. rax is what is found there.
 *
 * The load may fault. wf_arch_slots_fixup lets the handler of the signal go on
 * at wf_arch_slots_faulted then.
 */
	.text
	.globl	wf_arch_slots_scan
	.hidden	wf_arch_slots_scan
	.type	wf_arch_slots_scan, @function
	.p2align 5
wf_arch_slots_scan:
	.cfi_startproc
1:	cmpq	%rsi, %rdi
	jae	2f
	movq	(%rdi), %rax
	.globl	wf_arch_slots_load
	.hidden	wf_arch_slots_load
wf_arch_slots_load:
	movq	(%rax), %rax
	andq	8(%rdi), %rax
	cmpq	16(%rdi), %rax
	jne	2f
	addq	$32, %rdi
	jmp	1b
2:	movq	%rdi, %rax
	ret
	/* The slot's address with bit 0 set. */
	.globl	wf_arch_slots_faulted
	.hidden	wf_arch_slots_faulted
wf_arch_slots_faulted:
	leaq	1(%rdi), %rax
	ret
	.cfi_endproc
	.size	wf_arch_slots_scan, . - wf_arch_slots_scan

	.section .note.GNU-stack, "", @progbits
