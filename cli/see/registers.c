/* SPDX-License-Identifier: MIT */
/* The registers with which a thread that is on no kernel thread runs again. */
#include <asm/sigcontext.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "threads.h"

static uint64_t frame_word(const struct wf_see_items *it, const char *frame,
			   uint64_t offset)
{
	return wf_see_get(&(struct wf_see_field){ offset, 8 }, frame,
			  it->frame_bytes);
}

/* A preempted thread: all registers are in the copy of its signal frame. */
static void read_preempted(const struct wf_see_reading *r,
			   struct wf_see_thread *t)
{
	struct wf_arch_registers *to = &t->registers;
	greg_t g[NGREG];

	if (r->source->read(r->source,
			    to->rsp + offsetof(ucontext_t, uc_mcontext), g,
			    sizeof(g)) != sizeof(g))
		return;
	*to = wf_arch_registers_of(g);
	t->registers_from = WF_SEE_REGISTERS_PREEMPTED;
}

/* Of a core: a thread without saved registers had its kernel thread's. */
static void read_kernel(const struct wf_see_reading *r, struct wf_see_thread *t)
{
	const struct wf_see_kernel_thread *k =
		wf_see_kernel_thread_of(r->source, t->pthread);
	const struct user_regs_struct *from;

	if (k == NULL)
		return;
	from = &k->registers;
	t->registers = (struct wf_arch_registers){
		.rip = from->rip,
		.rsp = from->rsp,
		.rbp = from->rbp,
		.rbx = from->rbx,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
	};
	t->registers_from = WF_SEE_REGISTERS_KERNEL;
}

void wf_see_registers_read(const struct wf_see_reading *r, uint64_t sp,
			   struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;
	struct wf_arch_registers *to = &t->registers;
	char frame[WF_SEE_MAX_RECORD];

	t->saved_sp = sp;
	t->registers_from = WF_SEE_REGISTERS_NONE;
	if (sp == 0)
		read_kernel(r, t);
	if (sp == 0 || r->source->read(r->source, sp, frame, it->frame_bytes) !=
			       it->frame_bytes)
		return;
	to->rip = frame_word(it, frame, it->frame_rip);
	to->rbp = frame_word(it, frame, it->frame_rbp);
	to->rsp = sp + it->frame_bytes;
	t->registers_from = WF_SEE_REGISTERS_SAVED;
	if (to->rip == it->frame_resume)
		read_preempted(r, t);
	else if (to->rip == it->thread_entry)
		t->registers_from = WF_SEE_REGISTERS_ENTRY;
}

/* Selectors and flags of a thread that runs in user mode on Linux. */
enum { USER_CODE = 0x33, USER_DATA = 0x2b, INTERRUPTS_ON = 0x202 };

static uint64_t ucontext_of(const struct wf_see *see,
			    const struct wf_see_thread *t)
{
	return t->saved_sp + see->items.frame_bytes;
}

static void add_preempted(const struct wf_see *see,
			  const struct wf_see_thread *t,
			  struct user_regs_struct *to)
{
	greg_t g[NGREG];

	if (!wf_see_read(see,
			 ucontext_of(see, t) +
				 offsetof(ucontext_t, uc_mcontext.gregs),
			 g, sizeof(g)))
		return;
	to->rax = (uint64_t)g[REG_RAX];
	to->rcx = (uint64_t)g[REG_RCX];
	to->rdx = (uint64_t)g[REG_RDX];
	to->rsi = (uint64_t)g[REG_RSI];
	to->rdi = (uint64_t)g[REG_RDI];
	to->r8 = (uint64_t)g[REG_R8];
	to->r9 = (uint64_t)g[REG_R9];
	to->r10 = (uint64_t)g[REG_R10];
	to->r11 = (uint64_t)g[REG_R11];
	to->eflags = (uint64_t)g[REG_EFL];
}

void wf_see_registers_all(const struct wf_see *see,
			  const struct wf_see_thread *t,
			  struct user_regs_struct *ret_registers)
{
	const struct wf_arch_registers *from = &t->registers;

	*ret_registers = (struct user_regs_struct){
		.rip = from->rip,
		.rsp = from->rsp,
		.rbp = from->rbp,
		.rbx = from->rbx,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.orig_rax = UINT64_MAX, /* in no system call */
		.cs = USER_CODE,
		.ss = USER_DATA,
		.eflags = INTERRUPTS_ON,
		.fs_base = t->pthread,
	};
	if (t->registers_from == WF_SEE_REGISTERS_PREEMPTED)
		add_preempted(see, t, ret_registers);
	if (t->registers_from != WF_SEE_REGISTERS_ENTRY)
		return;
	/* As at the call of the start routine, which has no caller. */
	ret_registers->rip = t->start;
	ret_registers->rdi = t->start_arg;
	ret_registers->rsp = 0;
	ret_registers->rbp = 0;
}

/*
 * In a signal frame the kernel keeps notes on the state in bytes that the CPU
 * leaves alone. In a core there is the mask of the state's parts.
 */
size_t wf_see_registers_floats(const struct wf_see *see,
			       const struct wf_see_thread *t, char *to,
			       size_t room)
{
	const size_t fxsave = sizeof(struct user_fpregs_struct);
	const size_t own = offsetof(struct _fpstate_64, sw_reserved);
	struct _fpx_sw_bytes sw;
	uint64_t at;

	if (t->registers_from != WF_SEE_REGISTERS_PREEMPTED || room < fxsave ||
	    !wf_see_read(see,
			 ucontext_of(see, t) +
				 offsetof(ucontext_t, uc_mcontext.fpregs),
			 &at, sizeof(at)) ||
	    !wf_see_read(see, at, to, fxsave))
		return 0;
	memcpy(&sw, to + own, sizeof(sw));
	memset(to + own, 0, sizeof(sw));
	if (sw.magic1 != FP_XSTATE_MAGIC1 || sw.xstate_size <= fxsave ||
	    sw.xstate_size > room ||
	    !wf_see_read(see, at + fxsave, to + fxsave,
			 sw.xstate_size - fxsave))
		return fxsave;
	memcpy(to + own, &sw.xfeatures, sizeof(sw.xfeatures));
	return sw.xstate_size;
}
