/* SPDX-License-Identifier: MIT */
/*
 * A switch saves the outgoing thread's registers on its stack and loads those
 * of the incoming thread. Before, it makes the incoming thread the current one
 * of the VP and stores the post function. After, the incoming side runs the
 * post function and sets its signal mask. Where a switch has more to do, the
 * post function is another one, which does that, too. The second half of the
 * file decides which thread runs instead of one that yields or is
 * preempted.
 *
 * SWITCH-1. The outgoing side sets c->post, and the incoming side calls it;
 *     both run on c, one after the other.
 * SWITCH-2. vp->cur names the incoming thread before its stack is live. The
 *     incoming thread's in_runtime is 1, so the monitor does not preempt it.
 * SWITCH-3. c->loaded_tp is the thread register of the context that runs on c,
 *     from just before it is loaded. A signal in between finds the incoming
 *     thread in the runtime, and is put off.
 * SWITCH-4. While signals wait in c->signal_slot, c->kernel_mask is
 *     WF_MASK_UNKNOWN or UINT64_MAX, which is no thread's mask. The handler
 *     that fills the slot stores WF_MASK_UNKNOWN. Only wf_carrier_set_mask
 *     (UINT64_MAX) and wf_carrier_note_mask, which checks the slot, store
 *     another value. So one compare on the incoming side finds both a mask that
 *     has to change and a signal that has to be delivered.
 * SWITCH-5. A thread's ctx.sp is NULL from just after its context is loaded
 *     until just before it is saved. So a reader outside the process finds
 *     registers there, or none.
 * SWITCH-6. The token of a switch to a thread's context is that thread. So the
 *     switch that saved the context returns the thread itself.
 * SWITCH-7. The outgoing side finds out whether the switch has to exchange
 *     registers, to charge CPU time, or to poll for completions or wait words.
 *     Then post is post_and_work, and plain_post is the caller's. So the
 *     incoming side has nothing to test. wf_registers is not 0 before a thread
 *     with registers to exchange stops for the first time (REGISTERS-2), so
 *     each later switch to it finds that out.
 */
#include "sched/switch.h"

#include "base/upcall.h"
#include "os/kthread.h"
#include "sched/cpu_time.h"
#include "sched/preempt.h"
#include "sched/queue.h"
#include "sched/realtime.h"
#include "sched/registers.h"
#include "sched/requeue.h"
#include "sched/throttle.h"
#include "sched/vp_io.h"
#include "sched/words.h"

bool wf_switch_needs_syscall;

static WF_COLD void change_mask(struct wf_carrier *c, uint64_t mask)
{
	bool was_closed = c->kernel_mask == UINT64_MAX;

	/* No signal is opened while one waits in the slot. */
	if (mask != UINT64_MAX && wf_load_relaxed(&c->signal_slot.nr) != 0)
		return;
	c->kernel_mask = mask;
	wf_os_set_signal_mask(mask & ~WF_PREEMPT_BIT);
	if (was_closed)
		wf_upcall.signals_opened();
}

void wf_carrier_set_mask(struct wf_carrier *c, uint64_t mask)
{
	if (WF_UNLIKELY(c->kernel_mask != mask))
		change_mask(c, mask);
}

/*
 * Called on the incoming side: sets t's signal mask. Leaves a signal that waits
 * in the slot to t's exit from the runtime: kernel_mask is no thread's mask
 * then (SWITCH-4).
 */
static WF_COLD void change_mask_of(struct wf_carrier *c, struct wf_thread *t)
{
	if (wf_load_relaxed(&c->signal_slot.nr) != 0)
		atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
	change_mask(c, t->sigmask);
}

/*
 * Debug builds check lock ranks per kernel thread. The locks that the outgoing
 * side holds count as the incoming side's, which releases them.
 */
WF_INLINE void leave_locks(struct wf_carrier *c)
{
#ifdef WF_CHECK_RANKS
	c->ranks_held = wf_ranks_held();
#endif
}

WF_INLINE void take_locks(const struct wf_carrier *c)
{
#ifdef WF_CHECK_RANKS
	wf_ranks_carried(c->ranks_held);
#endif
}

static void set_post(struct wf_carrier *c, wf_post_fn *post, void *arg)
{
	leave_locks(c);
	c->post_arg = arg; /* SWITCH-1: for the incoming side */
	c->post = post;
}

static void make_current(struct wf_carrier *c, struct wf_vp *vp,
			 struct wf_thread *t)
{
	t->vp = vp;
	t->carrier = c;
	wf_count_own(&vp->counters, switches);
	/* release: the monitor reads t through cur (SWITCH-2). */
	wf_store_release(&vp->cur, t);
}

/*
 * Makes the carrier's own context the incoming one. vp: the carrier's VP, or
 * NULL.
 */
static void make_idle(struct wf_carrier *c, struct wf_vp *vp)
{
	c->idle_self.vp = vp;
	if (vp != NULL)
		wf_store_release(&vp->cur, NULL);
}

/* SWITCH-7. The incoming side's thread register is loaded. */
static void post_and_work(struct wf_carrier *c, void *arg)
{
	struct wf_vp *vp = wf_load_relaxed(&c->vp);
	struct wf_thread *t = wf_self;

	if (t == &c->idle_self) {
		c->plain_post(c, arg);
		return;
	}
	wf_registers_load(t);
	c->plain_post(c, arg);
	if (vp != NULL) { /* no lock is held here */
		wf_vp_io_poll(vp);
		wf_words_check(vp);
	}
}

WF_INLINE void finish(struct wf_thread *t)
{
	struct wf_carrier *c = t->carrier;

	t->ctx.sp = NULL; /* SWITCH-5: the context is loaded now */
	take_locks(c);
	c->post(c, c->post_arg); /* SWITCH-1: set by the outgoing side */
	if (WF_UNLIKELY(c->kernel_mask != t->sigmask))
		change_mask_of(c, t);
}

WF_LINK_INLINE void wf_switch_finish(struct wf_thread *t)
{
	finish(t);
}

WF_INLINE const struct wf_context *prepare_plain(struct wf_thread *t,
						 struct wf_vp *vp,
						 struct wf_thread *next,
						 wf_post_fn *post, void *arg)
{
	struct wf_carrier *c = t->carrier;

	set_post(c, post, arg);
	if (next == NULL) {
		make_idle(c, vp);
		c->loaded_tp = c->ctx.tp; /* SWITCH-3: before the load */
		return &c->ctx;
	}
	make_current(c, vp, next);
	c->loaded_tp = next->ctx.tp; /* SWITCH-3: before the load */
	return &next->ctx;
}

/*
 * True if the switch only switches. The registers that it need not exchange are
 * those of all threads: the gs base of each is 0 (sched/registers.h).
 */
WF_INLINE bool is_plain(const struct wf_vp *vp, const struct wf_thread *next)
{
	return WF_LIKELY(next != NULL &&
			 wf_load_relaxed(&vp->switch_work) == 0 &&
			 wf_cpu_gs_base() == 0);
}

/* Not inline, so that the usual path needs no frame. */
static WF_NOINLINE const struct wf_context *
prepare_with_work(struct wf_thread *t, struct wf_thread *next, wf_post_fn *post,
		  void *arg)
{
	wf_cpu_time_charge(t->carrier, t);
	wf_registers_save(t);
	t->carrier->plain_post = post;
	return prepare_plain(t, t->vp, next, post_and_work, arg);
}

/*
 * For all switches that are not plain, and where loading the thread register
 * takes a system call: WF_REGISTERS_NO_GSBASE is set then.
 */
static WF_NOINLINE struct wf_thread *switch_with_work(struct wf_thread *t,
						      struct wf_thread *next,
						      wf_post_fn *post,
						      void *arg)
{
	const struct wf_context *ctx = prepare_with_work(t, next, post, arg);

	t = wf_switch_load(&t->ctx.sp, ctx, next); /* SWITCH-6: returns t */
	finish(t);
	return t;
}

static WF_NOINLINE WF_NORETURN void abandon_with_work(struct wf_thread *t,
						      struct wf_thread *next,
						      wf_post_fn *post,
						      void *arg)
{
	const struct wf_context *ctx = prepare_with_work(t, next, post, arg);
	void *dead;

	if (WF_LIKELY(!wf_switch_needs_syscall))
		wf_arch_leave(ctx->sp, ctx->tp, next);
	wf_arch_switch_syscall(&dead, ctx->sp, ctx->tp, next);
	__builtin_unreachable();
}

WF_LINK_INLINE void wf_switch_abandon(struct wf_thread *t,
				      struct wf_thread *next, wf_post_fn *post,
				      void *arg)
{
	struct wf_vp *vp = t->vp;
	const struct wf_context *ctx;

	if (!is_plain(vp, next))
		abandon_with_work(t, next, post, arg);
	ctx = prepare_plain(t, vp, next, post, arg);
	wf_arch_leave(ctx->sp, ctx->tp, next);
}

WF_LINK_INLINE struct wf_thread *wf_switch_to(struct wf_thread *t,
					      struct wf_thread *next,
					      wf_post_fn *post, void *arg)
{
	struct wf_vp *vp = t->vp;
	const struct wf_context *ctx;

	if (!is_plain(vp, next))
		return switch_with_work(t, next, post, arg);
	ctx = prepare_plain(t, vp, next, post, arg);
	next = wf_arch_switch(&t->ctx.sp, ctx->sp, ctx->tp, next);
	t = wf_apart(next); /* SWITCH-6: the token is the thread */
	finish(t);
	return t;
}

struct wf_thread *wf_switch_to_carrier(struct wf_thread *t, wf_post_fn *post,
				       void *arg)
{
	return switch_with_work(t, NULL, post, arg);
}

/*
 * The post function where a carrier leaves its own stack for a thread: nothing
 * has to be done.
 */
static void no_post(struct wf_carrier *c, void *arg)
{
}

void wf_switch_from_carrier(struct wf_carrier *c, struct wf_thread *next)
{
	struct wf_vp *vp = wf_load_relaxed(&c->vp);

	wf_cpu_time_resume(c);
	if (vp != NULL) {
		make_current(c, vp, next);
	} else {
		next->vp = NULL;
		next->carrier = c;
	}
	c->plain_post = no_post;
	set_post(c, post_and_work, NULL);
	c->loaded_tp = next->ctx.tp; /* SWITCH-3: before the load */
	wf_switch_load(&c->ctx.sp, &next->ctx, next);
	take_locks(c);
	c->post(c, c->post_arg); /* SWITCH-1: set by the outgoing side */
}

static void requeue_yielded(struct wf_carrier *c, void *arg)
{
	wf_queue_put(wf_load_relaxed(&c->vp), arg, WF_READY_YIELDED);
}

static void requeue_preempted(struct wf_carrier *c, void *arg)
{
	wf_queue_put(wf_load_relaxed(&c->vp), arg, WF_READY_PREEMPTED);
}

static void requeue_expired(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;

	t->slice_us = 0;
	wf_queue_put(wf_load_relaxed(&c->vp), t, WF_READY_EXPIRED);
}

wf_post_fn *wf_switch_requeue(enum wf_resched why)
{
	switch (why) {
	case WF_RESCHED_TICK:
	case WF_RESCHED_WAKE:
	case WF_RESCHED_REALTIME:
		return requeue_preempted;
	case WF_RESCHED_SLICE:
		return requeue_expired;
	default:
		return requeue_yielded;
	}
}

/*
 * Returns the thread to run instead of t while real-time threads are throttled:
 * another waiting thread; NULL if there is none.
 */
static struct wf_thread *next_throttled(struct wf_thread *t,
					enum wf_resched why)
{
	bool only_interactive = why == WF_RESCHED_TICK &&
				wf_thread_is_cpu_bound(t);
	struct wf_thread *next;

	if (t->rt_priority == 0)
		return why == WF_RESCHED_REALTIME ?
			       NULL :
			       wf_queue_pick_other(t->vp, !only_interactive);
	next = wf_queue_pick_other(t->vp, true);
	if (next == NULL) {
		wf_throttle_end(t->vp);
		next = wf_realtime_instead_of(t, why);
	}
	return next;
}

/*
 * Returns the next thread if there is a reason to switch, or if more than the
 * interactive and batch run queues has to be checked.
 */
static WF_NOINLINE struct wf_thread *next_for(struct wf_thread *t,
					      enum wf_resched why)
{
	struct wf_vp *vp = t->vp;

	wf_store_relaxed(&vp->resched, WF_RESCHED_NONE);
	if (wf_vp_is_offline(vp))
		return NULL;
	wf_vp_io_poll(vp);
	wf_requeue_check(vp);
	if (why == WF_RESCHED_WAKE)
		vp->nr_next_picks = 0; /* the next slot has the woken thread */
	if (why == WF_RESCHED_TICK || why == WF_RESCHED_SLICE) {
		wf_vp_io_settle(vp, false);
		wf_queue_expose(vp);
	}
	if (WF_UNLIKELY(wf_throttle_is_on(vp)))
		return next_throttled(t, why);
	if (WF_UNLIKELY(t->rt_priority != 0))
		return wf_realtime_instead_of(t, why);
	if (why == WF_RESCHED_REALTIME)
		return wf_realtime_take(1);
	/* t was asked to yield to an interactive thread, which another VP may
	 * have taken meanwhile. Then t stays. Else t would change places with
	 * the first batch thread and come back at the next tick, and other
	 * batch threads would wait all the time. */
	return why == WF_RESCHED_TICK && wf_thread_is_cpu_bound(t) ?
		       wf_queue_pick_waiting(vp) :
		       wf_queue_pick(vp);
}

WF_LINK_INLINE struct wf_thread *wf_switch_next(struct wf_thread *t,
						enum wf_resched why)
{
	struct wf_vp *vp = t->vp;
	struct wf_thread *next;

	if (WF_UNLIKELY(why != WF_RESCHED_NONE || t->rt_priority != 0 ||
			wf_load_relaxed(&vp->pending) != 0))
		return next_for(t, why);
	next = wf_queue_pick_plain(vp);
	/* If there is no next thread, polls for completions. After a switch the
	 * incoming side does so. */
	return WF_LIKELY(next != NULL) ||
			       wf_load_relaxed(&vp->nr_requests) == 0 ?
		       next :
		       next_for(t, why);
}
