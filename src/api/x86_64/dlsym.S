/*
 *	void *dlsym(void *handle, const char *name);
 *	void *dlvsym(void *handle, const char *name, const char *version);
 *	rdi handle, rsi name, rdx version
 *
 * Each goes on in the function that its C part returns, by a jump: RTLD_NEXT
 * means the object behind the caller's, which libc's functions learn from the
 * return address.
 */
	.text

	.macro	search name, choose
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx			/* and the stack is aligned again */
	.cfi_adjust_cfa_offset 8
	call	\choose
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

	search	dlsym, wf_api_dlsym
	search	dlvsym, wf_api_dlvsym

/*
 *	void *dlopen(const char *file, int mode);
 *	rdi file, esi mode
 *
 * By a jump, too: where libraries are looked for depends on the caller.
 */
	.globl	dlopen
	.type	dlopen, @function
	.p2align 4
dlopen:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp		/* it is aligned again */
	.cfi_adjust_cfa_offset 8
	call	wf_api_dlopen
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	andl	$~8, %esi		/* RTLD_DEEPBIND: api/dlsym.c */
	jmp	*%rax
	.cfi_endproc
	.size	dlopen, . - dlopen

	.section .note.GNU-stack, "", @progbits
