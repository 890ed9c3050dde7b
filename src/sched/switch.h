/* SPDX-License-Identifier: MIT */
/*
 * Switching threads. All functions need in_runtime set and a VP unless they say
 * otherwise.
 *
 *     next = wf_queue_pick(t->vp);
 *     if (next != NULL)
 *             wf_switch_to(t, next, post, arg);
 *     else
 *             wf_switch_to_carrier(t, post, arg);
 *
 * This stops t, and runs next or the carrier's own context. There it calls
 * post(carrier, arg), when t's context is saved. Only post may make t visible
 * to other threads, release its lock or free its stack. The call returns when t
 * runs again, perhaps on another VP and carrier.
 */
#ifndef WEFT_SCHED_SWITCH_H
#define WEFT_SCHED_SWITCH_H

#include "arch/arch.h"
#include "sched/vp.h"

/* True if the CPU or the kernel has no wrfsbase. Set once, at start. */
extern bool wf_switch_needs_syscall;

/*
 * Switches to `next`, which the caller took from a queue. Returns t, as what
 * the switch back was given (SWITCH-6). A caller that uses only this after the
 * call keeps t in a register before it.
 */
struct wf_thread *wf_switch_to(struct wf_thread *t, struct wf_thread *next,
			       wf_post_fn *post, void *arg);

/*
 * Saves the present context and loads ctx, which is next's. Returns the thread
 * that runs when the saved context continues (SWITCH-6).
 */
WF_INLINE struct wf_thread *wf_switch_load(void **save_sp,
					   const struct wf_context *ctx,
					   struct wf_thread *next)
{
	return WF_LIKELY(!wf_switch_needs_syscall) ?
		       wf_arch_switch(save_sp, ctx->sp, ctx->tp, next) :
		       wf_arch_switch_syscall(save_sp, ctx->sp, ctx->tp, next);
}

/*
 * Leaves a context that is saved elsewhere or dead, for `next` or, if that is
 * NULL, the carrier's own. Any stack. Inline (arch/x86_64/switch.h).
 */
WF_NORETURN void wf_switch_abandon(struct wf_thread *t, struct wf_thread *next,
				   wf_post_fn *post, void *arg);

/*
 * Switches to the carrier's own context and returns t, as wf_switch_to does. t
 * may have a VP or not. A VP runs no thread then.
 */
struct wf_thread *wf_switch_to_carrier(struct wf_thread *t, wf_post_fn *post,
				       void *arg);

/* The carrier's own context runs `next`; returns when that switches back. */
void wf_switch_from_carrier(struct wf_carrier *c, struct wf_thread *next);

/* The incoming side calls this first. */
void wf_switch_finish(struct wf_thread *t);

/*
 * Sets the kernel's signal mask of this carrier if it differs or is unknown.
 * The caller holds no lock, or the mask has all signals.
 */
void wf_carrier_set_mask(struct wf_carrier *c, uint64_t mask);

/* Called when the kernel's mask has been set to a thread's by other means. */
static inline void wf_carrier_note_mask(struct wf_carrier *c, uint64_t mask)
{
	bool has_signals = wf_load_relaxed(&c->signal_slot.nr) != 0;

	c->kernel_mask = has_signals ? WF_MASK_UNKNOWN : mask;
}

/* The post function that queues the outgoing thread again. */
wf_post_fn *wf_switch_requeue(enum wf_resched why);

/*
 * The thread that has to run instead of t, which has a VP; NULL if there is
 * none. Clears the VP's request to switch.
 */
struct wf_thread *wf_switch_next(struct wf_thread *t, enum wf_resched why);

/* True if the running thread stays on vp. Never on an offline VP. */
static inline bool wf_switch_stays(const struct wf_vp *vp,
				   const struct wf_thread *next)
{
	return next == NULL && !wf_vp_is_offline(vp);
}

/*
 * Lets another thread run. Returns t, as wf_switch_to does, or NULL if there is
 * none.
 */
WF_INLINE struct wf_thread *wf_switch_yield(struct wf_thread *t,
					    enum wf_resched why)
{
	struct wf_thread *next = wf_switch_next(t, why);

	if (wf_switch_stays(t->vp, next))
		return NULL;
	return wf_switch_to(t, next, wf_switch_requeue(why), t);
}

#endif
