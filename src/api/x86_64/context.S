/* SPDX-License-Identifier: MIT */
/*
 *	int swapcontext(ucontext_t *from, const ucontext_t *to);
 *	                rdi               rsi
 *
 * Saves the same state as libc's swapcontext: the registers that a call keeps,
 * and those that pass arguments. They begin at offset 40, in the order r8 to
 * r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. The floating point
 * environment is at 424, with mxcsr at 448, and the pointer at 224 points to
 * it. When the context is resumed, the call returns 0.
 */
	.text
	.globl	swapcontext
	.type	swapcontext, @function
	.p2align 4
swapcontext:
	.cfi_startproc
	movq	%r8, 40(%rdi)
	movq	%r9, 48(%rdi)
	movq	%r12, 72(%rdi)
	movq	%r13, 80(%rdi)
	movq	%r14, 88(%rdi)
	movq	%r15, 96(%rdi)
	movq	%rdi, 104(%rdi)
	movq	%rsi, 112(%rdi)
	movq	%rbp, 120(%rdi)
	movq	%rbx, 128(%rdi)
	movq	%rdx, 136(%rdi)
	movq	$0, 144(%rdi)		/* rax */
	movq	%rcx, 152(%rdi)
	movq	(%rsp), %rcx
	movq	%rcx, 168(%rdi)		/* rip: where this call returns */
	leaq	8(%rsp), %rcx
	movq	%rcx, 160(%rdi)		/* rsp: after the return */
	leaq	424(%rdi), %rcx
	movq	%rcx, 224(%rdi)
	fnstenv	(%rcx)
	fldenv	(%rcx)			/* since fnstenv masks exceptions */
	stmxcsr	448(%rdi)
	jmp	wf_context_swap		/* returns only on failure */
	.cfi_endproc
	.size	swapcontext, . - swapcontext

/*
 * A context's function returns here. It has kept rbx, which points to uc_link,
 * above the arguments on the stack.
 */
	.globl	wf_context_end
	.hidden	wf_context_end
	.type	wf_context_end, @function
	.p2align 4
wf_context_end:
	.cfi_startproc
	.cfi_undefined rip
	movq	(%rbx), %rdi
	movq	%rbx, %rsp
	andq	$-16, %rsp
	call	wf_context_over
	hlt
	.cfi_endproc
	.size	wf_context_end, . - wf_context_end

	.section .note.GNU-stack, "", @progbits
