/* SPDX-License-Identifier: MIT */
/*
 * Switches threads on a VP. All functions need in_runtime set and a VP unless
 * they say otherwise.
 *
 *     next = wf_queue_pick(t->vp);
 *     if (next != NULL)
 *             wf_switch_to(t, next, post, arg);
 *     else
 *             wf_switch_to_carrier(t, post, arg);
 *
 * This stops t, and runs next or the carrier's own context. The incoming side
 * calls post(carrier, arg) when t's context is saved. Only post may make t
 * visible to other threads, release its lock or free its stack. The call
 * returns when t runs again, perhaps on another VP and carrier.
 */
#ifndef WEFT_SCHED_SWITCH_H
#define WEFT_SCHED_SWITCH_H

#include "arch/arch.h"
#include "sched/vp.h"

/* True if the CPU or the kernel has no wrfsbase. Set once, at start. */
extern bool wf_switch_needs_syscall;

/*
 * Switches to `next`, which the caller took from a queue. Returns t once t runs
 * again (SWITCH-6). A caller that uses only the returned pointer after the call
 * need not save t in memory.
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
 * Switches to `next`, or to the carrier's own context if next is NULL, and does
 * not save the present context: it is saved elsewhere or dead. May be called on
 * any stack. Inline (arch/x86_64/switch.h).
 */
WF_NORETURN void wf_switch_abandon(struct wf_thread *t, struct wf_thread *next,
				   wf_post_fn *post, void *arg);

/*
 * Switches to the carrier's own context and returns t, as wf_switch_to does. t
 * need not have a VP; if it has one, no thread runs on that VP then.
 */
struct wf_thread *wf_switch_to_carrier(struct wf_thread *t, wf_post_fn *post,
				       void *arg);

/*
 * Called on the carrier's own stack: runs `next`. Returns when a thread
 * switches back to the carrier.
 */
void wf_switch_from_carrier(struct wf_carrier *c, struct wf_thread *next);

/* Completes a switch: the incoming side calls this first. */
void wf_switch_finish(struct wf_thread *t);

/*
 * Makes `mask` the kernel's signal mask of this carrier, if it differs or is
 * unknown. The caller holds no lock, or `mask` has all signals.
 */
void wf_carrier_set_mask(struct wf_carrier *c, uint64_t mask);

/*
 * Called when other code has set the kernel's signal mask to that of a thread.
 */
static inline void wf_carrier_note_mask(struct wf_carrier *c, uint64_t mask)
{
	bool has_signals = wf_load_relaxed(&c->signal_slot.nr) != 0;

	c->kernel_mask = has_signals ? WF_MASK_UNKNOWN : mask;
}

/* Returns the post function that queues the outgoing thread again. */
wf_post_fn *wf_switch_requeue(enum wf_resched why);

/*
 * Takes and returns the thread that has to run instead of t, which has a VP;
 * NULL if t goes on. Clears the VP's request to switch.
 */
struct wf_thread *wf_switch_next(struct wf_thread *t, enum wf_resched why);

/*
 * True if the running thread stays on vp: no other thread has to run instead.
 * Never on an offline VP.
 */
static inline bool wf_switch_stays(const struct wf_vp *vp,
				   const struct wf_thread *next)
{
	return next == NULL && !wf_vp_is_offline(vp);
}

/*
 * Runs another thread and queues t again. Returns t, as wf_switch_to does; NULL
 * if there is no other thread.
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
