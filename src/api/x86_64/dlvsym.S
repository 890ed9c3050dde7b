/*
 *	void *dlvsym(void *handle, const char *name, const char *version);
 *	rdi handle, rsi name, rdx version
 *
 * Goes on in libc's dlvsym or dlsym by a jump: RTLD_NEXT means the object
 * behind the caller's, which both learn from the return address.
 */
	.text
	.globl	dlvsym
	.type	dlvsym, @function
	.p2align 4
dlvsym:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx			/* and the stack is aligned again */
	.cfi_adjust_cfa_offset 8
	call	wf_api_dlvsym
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	dlvsym, . - dlvsym

	.section .note.GNU-stack, "", @progbits
