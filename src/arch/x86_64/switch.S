/* SPDX-License-Identifier: MIT */
/*
 * Context switch by a system call, with the frame of switch.h.
 *
 *	void *wf_arch_switch_syscall(void **save_sp, void *load_sp,
 *	rax                          rdi             rsi
 *	                             uintptr_t load_tp, void *token);
 *	                             rdx                rcx
 *
 * The callee-saved registers lie above the frame. By the ABI the direction flag
 * is clear at every call, and vector registers are caller-saved.
 *
 * The control words are loaded only if they differ: a compare costs less than a
 * load, which delays later instructions. r8d and r9d keep the words of the
 * outgoing side during the system call, and r10 keeps the token: the call
 * clobbers rax and rcx.
 */
#include "base/upcall.h"

	.text

	.globl	wf_arch_switch_syscall
	.hidden	wf_arch_switch_syscall
	.type	wf_arch_switch_syscall, @function
	.p2align 5
wf_arch_switch_syscall:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	leaq	3f(%rip), %rax		/* the frame */
	pushq	%rax
	pushq	%rbp
	subq	$8, %rsp
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movl	(%rsp), %r8d
	movzwl	4(%rsp), %r9d
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	movl	$0x1002, %edi		/* ARCH_SET_FS */
	movq	%rdx, %rsi
	movq	%rcx, %r10
	movl	$158, %eax		/* arch_prctl */
	syscall
	cmpl	(%rsp), %r8d		/* the incoming frame */
	je	1f
	ldmxcsr	(%rsp)
1:	cmpw	4(%rsp), %r9w
	je	2f
	fldcw	4(%rsp)
2:	movq	%r10, %rax
	addq	$8, %rsp
	popq	%rbp
	popq	%rcx
	jmpq	*%rcx
3:	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	wf_arch_switch_syscall, . - wf_arch_switch_syscall

/*
 * The first instruction of a new context. The undefined return address ends the
 * walk of every unwinder here. The jump to thread_main has a return address
 * pushed, as a call has (switch.h).
 */
	.globl	wf_arch_thread_entry
	.hidden	wf_arch_thread_entry
	.type	wf_arch_thread_entry, @function
	.p2align 4
wf_arch_thread_entry:
	.cfi_startproc
	.cfi_undefined rip
	andq	$-16, %rsp
	xorl	%ebp, %ebp
	leaq	1f(%rip), %rax
	pushq	%rax
	jmp	*wf_upcall+WF_UPCALL_THREAD_MAIN(%rip)
1:	hlt
	.cfi_endproc
	.size	wf_arch_thread_entry, . - wf_arch_thread_entry

/*
 * wf_arch_switch enters the save area of a preempted thread here, with the
 * stack pointer at the copied struct ucontext:
 *
 *	wf_upcall.frame_resume(uc)	finishes the switch
 *	wrfsbase, if the thread had a foreign base	(signal.S)
 *	rt_sigreturn with the stack pointer at uc
 */
	.globl	wf_arch_frame_resume
	.hidden	wf_arch_frame_resume
	.type	wf_arch_frame_resume, @function
	.p2align 4
wf_arch_frame_resume:
	.cfi_startproc
	.cfi_undefined rip
	movq	%rsp, %rbx
	movq	%rsp, %rdi
	andq	$-16, %rsp
	call	*wf_upcall+WF_UPCALL_FRAME_RESUME(%rip)
	movq	%rbx, %rsp
	movq	8(%rbx), %rax
	testq	%rax, %rax
	je	1f
	wrfsbase %rax
1:	movl	$15, %eax		/* rt_sigreturn */
	syscall
	hlt
	.cfi_endproc
	.size	wf_arch_frame_resume, . - wf_arch_frame_resume

/*
 *	long wf_arch_clone(unsigned long flags, void *stack_top,
 *			   uintptr_t tp, void (*fn)(void *), void *arg,
 *			   _Atomic uint32_t *clear);
 *	     rax           rdi                  rsi
 *			   rdx           rcx                  r8
 *			   r9
 *
 * The system call takes flags, stack, parent tid, child tid and thread register
 * in rdi, rsi, rdx, r10, r8. The child finds fn and arg on its stack. Above
 * them is room for its tid, which is never read.
 */
	.globl	wf_arch_clone
	.hidden	wf_arch_clone
	.type	wf_arch_clone, @function
	.p2align 4
wf_arch_clone:
	.cfi_startproc
	andq	$-16, %rsi
	subq	$32, %rsi
	movq	%rcx, (%rsi)
	movq	%r8, 8(%rsi)
	movq	%rdx, %r8
	leaq	16(%rsi), %rdx
	movq	%r9, %r10
	movl	$56, %eax		/* clone */
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip		/* the child's first frame */
	xorl	%ebp, %ebp
	popq	%rax
	popq	%rdi
	call	*%rax
	hlt
	.cfi_endproc
	.size	wf_arch_clone, . - wf_arch_clone

	.globl	wf_arch_sigreturn
	.hidden	wf_arch_sigreturn
	.type	wf_arch_sigreturn, @function
	.p2align 4
	nop				/* unwinders search one byte back */
wf_arch_sigreturn:
	movq	$15, %rax		/* the bytes that libgcc and gdb know */
	syscall
	.size	wf_arch_sigreturn, . - wf_arch_sigreturn

	.section .note.GNU-stack, "", @progbits
