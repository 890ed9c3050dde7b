/* SPDX-License-Identifier: MIT */
/* The registers with which a thread that is on no kernel thread runs again. */
#include <stddef.h>
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
	struct wf_see_registers *to = &t->registers;
	greg_t g[NGREG];

	if (r->source->read(r->source,
			    to->rsp + offsetof(ucontext_t, uc_mcontext), g,
			    sizeof(g)) != sizeof(g))
		return;
	*to = (struct wf_see_registers){ .rip = (uint64_t)g[REG_RIP],
					 .rsp = (uint64_t)g[REG_RSP],
					 .rbp = (uint64_t)g[REG_RBP],
					 .rbx = (uint64_t)g[REG_RBX],
					 .r12 = (uint64_t)g[REG_R12],
					 .r13 = (uint64_t)g[REG_R13],
					 .r14 = (uint64_t)g[REG_R14],
					 .r15 = (uint64_t)g[REG_R15] };
	t->registers_from = WF_SEE_REGISTERS_PREEMPTED;
}

void wf_see_registers_read(const struct wf_see_reading *r, uint64_t sp,
			   struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;
	struct wf_see_registers *to = &t->registers;
	char frame[WF_SEE_MAX_RECORD];

	t->saved_sp = sp;
	t->registers_from = WF_SEE_REGISTERS_NONE;
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
