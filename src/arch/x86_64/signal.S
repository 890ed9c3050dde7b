/*
 * Entering the program's signal handlers and coming back from them.
 */
	.text

/*
 *	void wf_arch_signal_enter(void *sp, const uint64_t *mask,
 *	                          rdi       rsi
 *	             void *handler, long sig, void *info, void *uc);
 *	             rdx            rcx       r8          r9
 *
 * Once the mask is set, signals may come; they find a whole stack.
 */
	.globl	wf_arch_signal_enter
	.hidden	wf_arch_signal_enter
	.type	wf_arch_signal_enter, @function
	.p2align 4
wf_arch_signal_enter:
	movq	%rdi, %rsp
	movq	%rdx, %r12
	movq	%rcx, %r13
	movq	%r8, %r14
	movq	%r9, %r15
	movq	120(%r9), %rbp		/* uc's rbp, for frame pointer walks */
	movl	$2, %edi		/* SIG_SETMASK */
	xorl	%edx, %edx
	movl	$8, %r10d
	movl	$14, %eax		/* rt_sigprocmask */
	syscall
	movq	%r13, %rdi
	movq	%r14, %rsi
	movq	%r15, %rdx
	xorl	%eax, %eax
	jmp	*%r12
	.size	wf_arch_signal_enter, . - wf_arch_signal_enter

/*
 * Stack pointer at uc. Registers lie in uc from offset 40: r8 to r15, rdi,
 * rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. The call frame information says so
 * to unwinders, the S in it that the address needs no correction; the nop is
 * what they find one byte before the return address.
 */
	/* DW_CFA_expression reg: breg7 (rsp) + offset, a signed LEB128. */
	.macro SAVED reg, offset
	.if \offset < 64
	.cfi_escape 0x10, \reg, 2, 0x77, \offset
	.else
	.cfi_escape 0x10, \reg, 3, 0x77, (\offset & 127) | 128, \offset >> 7
	.endif
	.endm

	.globl	wf_arch_signal_return
	.hidden	wf_arch_signal_return
	.type	wf_arch_signal_return, @function
	.p2align 4
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06	/* CFA: *(rsp + 160) */
	SAVED	8, 40
	SAVED	9, 48
	SAVED	10, 56
	SAVED	11, 64
	SAVED	12, 72
	SAVED	13, 80
	SAVED	14, 88
	SAVED	15, 96
	SAVED	5, 104			/* rdi */
	SAVED	4, 112			/* rsi */
	SAVED	6, 120			/* rbp */
	SAVED	3, 128			/* rbx */
	SAVED	1, 136			/* rdx */
	SAVED	0, 144			/* rax */
	SAVED	2, 152			/* rcx */
	SAVED	7, 160			/* rsp */
	SAVED	16, 168			/* rip */
	nop
wf_arch_signal_return:
	movq	%rsp, %rdi
	movq	%rsp, %rbx
	call	wf_signal_return
	movq	%rbx, %rsp
	movl	$15, %eax		/* rt_sigreturn */
	syscall
	hlt
	.cfi_endproc
	.size	wf_arch_signal_return, . - wf_arch_signal_return

	.section .note.GNU-stack, "", @progbits
