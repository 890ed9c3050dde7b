/* SPDX-License-Identifier: MIT */
/*
 *	void registers_hold(const struct registers *in,		rdi
 *			    struct registers *ret_out,		rsi
 *			    uint64_t rounds, int level);	rdx, ecx
 *
 * Frame, from the stack pointer up; 128 bytes below it are the red zone:
 *
 *	 0  the caller's mxcsr (4), x87 control word (2)
 *	 8  level
 *	16  ret_out; then the held rdi
 *	24  r15 r14 r13 r12 rbp rbx, return address
 */
	.set	FLAGS, 112
	.set	RED_ZONE, 120
	.set	MXCSR, 248
	.set	X87_CONTROL, 252
	.set	X87_STATUS, 254
	.set	X87, 256
	.set	MASK, 384
	.set	VECTOR, 448
	.set	COUNT, 2496

	.text

	.macro	LOAD_VECTORS insn, prefix, count
	.set	i, 0
	.rept	\count
	LOAD_ONE \insn, \prefix, %i
	.set	i, i + 1
	.endr
	.endm

	.macro	STORE_VECTORS insn, prefix, count
	.set	i, 0
	.rept	\count
	STORE_ONE \insn, \prefix, %i
	.set	i, i + 1
	.endr
	.endm

	.altmacro
	.macro	LOAD_ONE insn, prefix, n
	\insn	VECTOR + 64 * \n(%rdi), %\prefix\n
	.endm
	.macro	STORE_ONE insn, prefix, n
	\insn	%\prefix\n, VECTOR + 64 * \n(%rdi)
	.endm
	.macro	LOAD_MASK n
	kmovw	MASK + 8 * \n(%rdi), %k\n
	.endm
	.macro	STORE_MASK n
	movq	$0, MASK + 8 * \n(%rdi)
	kmovw	%k\n, MASK + 8 * \n(%rdi)
	.endm

	.globl	registers_hold
	.type	registers_hold, @function
	.p2align 4
registers_hold:
	.cfi_startproc
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rsi
	pushq	%rcx
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 72
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)

	/* Vector registers, as wide as the level says. */
	cmpl	$1, %ecx
	jb	1f
	je	2f
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	LOAD_MASK \n
	.endr
	LOAD_VECTORS vmovdqu64, zmm, 32
	jmp	3f
1:	LOAD_VECTORS movdqu, xmm, 16
	jmp	3f
2:	LOAD_VECTORS vmovdqu, ymm, 16
3:	ldmxcsr	MXCSR(%rdi)
	fninit
	fldcw	X87_CONTROL(%rdi)
	.irp	n, 7, 6, 5, 4, 3, 2, 1, 0
	fldt	X87 + 16 * \n(%rdi)
	.endr

	/* Flags first: loads and stores do not change them afterwards. */
	movq	%rdx, %rcx
	pushq	FLAGS(%rdi)
	popfq
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	RED_ZONE + 8 * \n(%rdi), %rax
	movq	%rax, -8 - 8 * \n(%rsp)
	.endr
	movq	0(%rdi), %rax
	movq	8(%rdi), %rbx
	movq	16(%rdi), %rdx
	movq	24(%rdi), %rsi
	movq	40(%rdi), %rbp
	movq	48(%rdi), %r8
	movq	56(%rdi), %r9
	movq	64(%rdi), %r10
	movq	72(%rdi), %r11
	movq	80(%rdi), %r12
	movq	88(%rdi), %r13
	movq	96(%rdi), %r14
	movq	104(%rdi), %r15
	movq	32(%rdi), %rdi

	/* `loop` changes rcx and no flag. */
4:	loop	4b

	xchgq	%rdi, 16(%rsp)
	movq	%rax, 0(%rdi)
	movq	%rbx, 8(%rdi)
	movq	%rdx, 16(%rdi)
	movq	%rsi, 24(%rdi)
	movq	%rbp, 40(%rdi)
	movq	%r8, 48(%rdi)
	movq	%r9, 56(%rdi)
	movq	%r10, 64(%rdi)
	movq	%r11, 72(%rdi)
	movq	%r12, 80(%rdi)
	movq	%r13, 88(%rdi)
	movq	%r14, 96(%rdi)
	movq	%r15, 104(%rdi)
	movq	%rcx, COUNT(%rdi)
	movq	16(%rsp), %rax
	movq	%rax, 32(%rdi)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	-8 - 8 * \n(%rsp), %rax
	movq	%rax, RED_ZONE + 8 * \n(%rdi)
	.endr
	pushfq
	popq	FLAGS(%rdi)
	cld

	fnstsw	X87_STATUS(%rdi)
	fnstcw	X87_CONTROL(%rdi)
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	fstpt	X87 + 16 * \n(%rdi)
	.endr
	stmxcsr	MXCSR(%rdi)
	movl	8(%rsp), %ecx
	cmpl	$1, %ecx
	jb	5f
	je	6f
	STORE_VECTORS vmovdqu64, zmm, 32
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7
	STORE_MASK \n
	.endr
	vzeroupper
	jmp	7f
5:	STORE_VECTORS movdqu, xmm, 16
	jmp	7f
6:	STORE_VECTORS vmovdqu, ymm, 16
	vzeroupper

7:	fninit
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -48
	ret
	.cfi_endproc
	.size	registers_hold, . - registers_hold

	.section .note.GNU-stack, "", @progbits
