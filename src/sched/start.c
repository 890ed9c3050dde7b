/* SPDX-License-Identifier: MIT */
/*
 * A slot serves one thread after the other, and most of its TCB stays valid in
 * between. If the last thread left it clean, only a few fields are renewed;
 * else the TCB is written as a whole. The new thread gets the stack on which
 * the last thread of the VP has ended, if any: that stack is in the cache.
 */
#include "sched/start.h"

#include "arch/arch.h"
#include "libc/tcb.h"

static void report_stack(const struct wf_slot *s)
{
	wf_tcb_set_stack(s->tcb, wf_slot_block_low(s), wf_slot_block_bytes(s));
}

void wf_start_prepare(struct wf_thread *t, struct wf_pool *pool)
{
	struct wf_slot *s = &t->slot;
	struct wf_thread *other = NULL;

	if (pool != NULL)
		other = wf_table_take_hot_stack(pool, t);
	if (other != NULL) {
		report_stack(s);
		/* A clean TCB is renewed without the bounds of its stack, so
		 * they are stored here. */
		report_stack(&other->slot);
	}
	if (s->is_fresh)
		s->is_fresh = false;
	else if (WF_LIKELY(!t->is_dirty))
		wf_tcb_renew_clean(s->tcb, t->tid);
	else
		wf_tcb_renew(s->tcb, t->tid, wf_slot_block_low(s),
			     wf_slot_block_bytes(s));
	if (WF_UNLIKELY(!wf_tcb_has_policy(t->sched_policy, t->sched_priority)))
		wf_tcb_set_policy(s->tcb, t->sched_policy, t->sched_priority);
	/* Stays set until the thread's end, which clears it if the TCB is
	 * clean. */
	t->is_dirty = true;
	t->ctx.tp = s->tcb;
	t->ctx.sp = wf_arch_context_make(wf_slot_stack_top(s),
					 wf_arch_thread_entry, t->fp_control);
}
