/* SPDX-License-Identifier: MIT */
/*
 * Reads memory that may not be mapped.
 *
 *	const struct wf_arch_slot *
 *	wf_arch_slots_scan(const struct wf_arch_slot *from,
 *	                   rdi
 *	                   const struct wf_arch_slot *end);
 *	                   rsi
 *
 * A slot has four words: an address, a mask, the old value, and the owner. rax
 * has the value at the address.
 *
 * The load may fault. Then wf_arch_slots_fixup makes the signal handler
 * continue at wf_arch_slots_faulted.
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
	/* Returns the slot's address with bit 0 set. */
	.globl	wf_arch_slots_faulted
	.hidden	wf_arch_slots_faulted
wf_arch_slots_faulted:
	leaq	1(%rdi), %rax
	ret
	.cfi_endproc
	.size	wf_arch_slots_scan, . - wf_arch_slots_scan

	.section .note.GNU-stack, "", @progbits
