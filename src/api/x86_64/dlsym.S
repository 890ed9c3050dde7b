/* SPDX-License-Identifier: MIT */
/*
 *	void *dlsym(void *handle, const char *name);
 *	void *dlvsym(void *handle, const char *name, const char *version);
 *	rdi handle, rsi name, rdx version
 *
 * Each stub calls its C part, then jumps to the function that the C part
 * returns. A jump keeps the return address. From that libc finds the caller's
 * object, which RTLD_NEXT refers to.
 */
	.text

	.macro	search name, choose, last=
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx			/* aligns the stack, too */
	.cfi_adjust_cfa_offset 8
	call	\choose
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	\last
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
 * Jumps, too: libc's search path depends on the caller's object. Clears
 * RTLD_DEEPBIND (8) in the mode (api/dlsym.c).
 */
	search	dlopen, wf_api_dlopen, "andl $~8, %esi"

	.section .note.GNU-stack, "", @progbits
