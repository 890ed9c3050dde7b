/* SPDX-License-Identifier: MIT */
/*
 * The last step of a wake. A bound or foreign thread sleeps on a futex of its
 * own. Any other thread goes to a queue: usually the next slot of the waker's
 * VP. If the waker has no VP, the thread goes to the injection queue, where an
 * idle VP takes it. If no VP is idle and the thread's last VP runs a CPU-bound
 * thread, that one is preempted. A CPU-bound waker yields to the thread that it
 * wakes, if no VP is idle.
 */
#include "sched/ready.h"

#include "base/upcall.h"
#include "os/futex.h"
#include "sched/idle.h"
#include "sched/queue_internal.h"

static void wake_kernel_thread(struct wf_thread *t)
{
	/* release: publishes the waker's writes; pairs with the acquire of the
	 * thread that sleeps on kernel_word. */
	wf_store_release(&t->kernel_word, 1);
	wf_os_futex_wake(&t->kernel_word, 1);
}

/* True if the thread that runs on vp may be preempted for a woken one. */
static bool is_preemptible(const struct wf_vp *vp,
			   const struct wf_thread *running)
{
	return wf_thread_is_cpu_bound(running) &&
	       wf_load_relaxed(&vp->batch_deficit) < WF_DEFICIT_TICK;
}

struct wf_carrier *wf_ready_yielding(const struct wf_vp *vp)
{
	const struct wf_thread *running = wf_load_acquire(&vp->cur);
	struct wf_carrier *c = vp->carrier;

	return running != NULL && c != NULL && is_preemptible(vp, running) ?
		       c :
		       NULL;
}

/*
 * Preempts the CPU-bound thread that runs on vp, for a thread that a kernel
 * thread without a VP has woken. vp would notice the wake only at the next
 * tick. If the monitor asks vp to switch at the same time, its request may win.
 */
static void take_vp(struct wf_vp *vp)
{
	uint64_t switches = wf_load_relaxed(&vp->counters.switches);
	struct wf_carrier *c = wf_ready_yielding(vp);

	if (c == NULL)
		return;
	wf_vp_ask(vp, WF_RESCHED_WAKE, switches);
	wf_upcall.interrupt(c);
}

/*
 * Queues t for any VP. If no VP is idle, the VP on which t ran last is to take
 * it.
 */
static void put_remote(struct wf_thread *t)
{
	/* read before the push: then t may run and change it */
	struct wf_vp *vp = t->vp;
	bool is_awaited = wf_idle_is_any();

	wf_queue_put_remote(NULL, t, WF_READY_WOKEN);
	if (vp == NULL || is_awaited)
		return;
	atomic_fetch_or(&vp->pending, WF_PENDING_REMOTE);
	take_vp(vp);
}

static bool has_vp(const struct wf_thread *me)
{
	return me != NULL && wf_vp_of(me) != NULL;
}

/* A CPU-bound thread yields to a thread that it wakes, if no VP is idle. */
static WF_NOINLINE void yield_to(struct wf_thread *me, struct wf_thread *t)
{
	struct wf_vp *vp = me->vp;

	if (wf_idle_is_any()) {
		wf_queue_put_remote(NULL, t, WF_READY_WOKEN);
		return;
	}
	wf_queue_put(vp, t, WF_READY_WOKEN);
	wf_vp_ask_own(vp, WF_RESCHED_WAKE);
}

static WF_NOINLINE void wake(struct wf_thread *me, struct wf_thread *t)
{
	if (t->kind != WF_THREAD_MULTIPLEXED)
		wake_kernel_thread(t);
	else if (!has_vp(me))
		put_remote(t);
	else if (WF_LIKELY(!is_preemptible(me->vp, me)))
		wf_queue_put(me->vp, t, WF_READY_WOKEN);
	else
		yield_to(me, t);
}

/* The usual wake: puts t into the next slot of the waker's VP. */
WF_INLINE void ready_woken(struct wf_vp *vp, struct wf_thread *me,
			   struct wf_thread *t)
{
	if (WF_UNLIKELY(vp == NULL || t->kind != WF_THREAD_MULTIPLEXED ||
			wf_thread_is_cpu_bound(me) ||
			!wf_queue_is_plain_wake(vp, t))) {
		wake(me, t);
		return;
	}
	/* SCHED_QUEUE-3: the caller owns the VP, so no CAS is needed. */
	wf_store_relaxed(&vp->next_slot, wf_entry_started(t));
	wf_queue_check_monitor(vp);
}

WF_LINK_INLINE void wf_ready_woken_on(struct wf_vp *vp, struct wf_thread *me,
				      struct wf_thread *t)
{
	ready_woken(vp, me, t);
}

WF_LINK_INLINE void wf_ready_woken(struct wf_thread *me, struct wf_thread *t)
{
	ready_woken(me != NULL ? wf_vp_of(me) : NULL, me, t);
}
