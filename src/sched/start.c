#include "sched/start.h"

#include "arch/arch.h"
#include "libc/layout.h"
#include "libc/tcb.h"

void wf_start_prepare(struct wf_thread *t)
{
	struct wf_slot *s = &t->slot;

	if (s->is_fresh)
		s->is_fresh = false;
	else
		wf_tcb_renew(s->tcb, t->tid, s->stack_low - s->guard_bytes,
			     s->stack_bytes + s->guard_bytes);
	t->ctx.tp = s->tcb;
	t->ctx.sp = wf_arch_context_make(wf_slot_stack_top(s),
					 wf_arch_thread_entry, t->fp_control);
}
