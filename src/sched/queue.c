/* SPDX-License-Identifier: MIT */
/*
 * The queues of runnable threads, and how a thread gets into them; pick.c takes
 * threads out. Each VP has a next slot, an interactive and a batch run queue,
 * and a remote queue. The process has one injection queue. A woken thread stays
 * on the VP of its waker, unless it is worth the wake of an idle VP.
 * wf_queue_pick takes in this order:
 *
 *     the entries of the remote queue are sorted into the run queues
 *     real-time threads (sched/realtime.h), unless throttled (throttle.h)
 *     the head of the batch run queue, if the tick has set WF_PENDING_BATCH
 *     the next slot, at most 16 times in a row while the interactive run
 *         queue has work, less often if the threads run for long
 *     the VP's interactive run queue; the injection queue; other VPs'
 *         interactive run queues; the VP's batch run queue; other VPs'
 *
 * SCHED_QUEUE-1. A started thread's entry is in one place only. This is a next
 *     slot, a run queue, the injection queue, a remote queue, or the VP that
 *     took it out and handles it now.
 * SCHED_QUEUE-2. Only a VP's owner pushes to its run queues; all VPs and the
 *     monitor may take.
 * SCHED_QUEUE-3. Only the owner takes from its next slot; other threads only
 *     read it. A thread in the slot has to wait for the owner's next pick. If
 *     the owner computes meanwhile, the tick preempts it. If the owner sleeps
 *     in the kernel, the monitor gives the VP to another carrier, which is the
 *     owner then.
 *
 * Rejected: a next slot from which other VPs take, by an exchange on each side
 * of every wake. It costs as much as half a switch. It helps only a thread that
 * is in the slot when the owner blocks or computes.
 * Rejected: one queue for all VPs: its lock is the bottleneck of every wake.
 * Rejected: fair queueing by virtual time: it reads a clock at each switch, and
 * is no better.
 */
#include "sched/queue.h"

#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/queue_internal.h"
#include "sched/realtime.h"

/* Moves half of a full queue to the injection queue, under one lock. */
static void spill(struct wf_vp *vp, struct wf_runq *queue)
{
	uint64_t *half = vp->spilled;
	uint32_t nr = wf_runq_take_half(queue, half, WF_RUNQ_SIZE / 2);
	uint32_t nr_live = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!wf_entry_is_stale(half[i]))
			half[nr_live++] = half[i];
	}
	if (nr_live > 0)
		wf_inject_push(&wf_sched.inject, half, nr_live);
}

void wf_queue_push_to_full(struct wf_vp *vp, struct wf_runq *queue,
			   uint64_t entry)
{
	do
		spill(vp, queue);
	while (!wf_runq_push_tail(queue, entry));
}

void wf_queue_push_head(struct wf_vp *vp, struct wf_runq *queue, uint64_t entry)
{
	/* In an empty queue the head and the tail are the same place. A push at
	 * the tail keeps its positions counting up (wf_runq_positions). */
	if (wf_runq_len(queue) == 0 || !wf_runq_push_head(queue, entry))
		wf_queue_push_tail(vp, queue, entry);
}

/*
 * True if it pays to wake a sleeping VP for t. Usually a runnable thread stays
 * with its waker: a wake through the kernel costs more than most threads run.
 * The wake pays where threads run for longer, and for a thread that has
 * computed before. It does not pay for the only thread of a VP that is about to
 * pick.
 */
static bool is_worth_wake(const struct wf_vp *vp, const struct wf_thread *t)
{
	if (WF_LIKELY(!wf_load_relaxed(&vp->runs_long) &&
		      !wf_thread_was_cpu_bound(t)))
		return false;
	if (wf_load_relaxed(&vp->cur) == NULL &&
	    wf_load_relaxed(&vp->next_slot) == WF_ENTRY_NONE &&
	    wf_runq_is_empty(&vp->interactive))
		return false;
	return wf_idle_is_any();
}

static WF_COLD void push_stealable(struct wf_vp *vp, uint64_t entry)
{
	wf_queue_push_tail(vp, &vp->interactive, entry);
	wf_store_relaxed(&wf_sched.stealable, WF_STEALABLE_MANY);
	wf_fence_seq_cst(); /* pairs with the fence in wf_idle_begin */
	wf_idle_wake_any();
}

static uint64_t entry_of(const struct wf_thread *t, enum wf_ready why)
{
	return why == WF_READY_NEW ? wf_entry_not_started(t) :
				     wf_entry_started(t);
}

static void put_woken(struct wf_vp *vp, const struct wf_thread *t,
		      uint64_t entry)
{
	uint64_t old;

	if (is_worth_wake(vp, t)) {
		push_stealable(vp, entry);
		return;
	}
	/* SCHED_QUEUE-3: the owner's slot */
	old = wf_load_relaxed(&vp->next_slot);
	wf_store_relaxed(&vp->next_slot, entry);
	if (old != WF_ENTRY_NONE)
		wf_queue_push_interactive(vp, old);
}

static void put_batch(struct wf_vp *vp, uint64_t entry)
{
	const struct wf_thread *next = wf_load_relaxed(&vp->cur);

	wf_queue_push_tail(vp, &vp->batch, entry);
	wf_runq_order_vary(&vp->batch_order, &vp->batch,
			   next != NULL && next->from_batch);
}

static void put_interactive(struct wf_vp *vp, uint64_t entry)
{
	const struct wf_thread *next = wf_load_relaxed(&vp->cur);

	wf_queue_push_interactive(vp, entry);
	wf_runq_order_vary(&vp->interactive_order, &vp->interactive,
			   next != NULL && !next->from_batch);
}

/*
 * Queues t, which another thread has displaced from the next slot or the CPU.
 * If t is CPU-bound, a VP with nothing to run is woken for it.
 */
static void put_displaced(struct wf_vp *vp, const struct wf_thread *t,
			  uint64_t entry, bool is_next)
{
	if (!wf_thread_is_cpu_bound(t))
		put_interactive(vp, entry);
	else if (wf_idle_is_any())
		wf_queue_push_remote(NULL, &entry, 1);
	else if (is_next)
		wf_queue_push_head(vp, &vp->batch, entry);
	else
		put_batch(vp, entry);
}

/*
 * wf_queue_put for the rare cases: t is real-time, new or preempted, or the
 * next slot is full.
 */
static WF_NOINLINE void put(struct wf_vp *vp, struct wf_thread *t,
			    enum wf_ready why)
{
	uint64_t entry = entry_of(t, why);

	if (WF_UNLIKELY(t->rt_priority != 0)) {
		wf_realtime_put(vp, t, why);
		wf_queue_check_monitor(vp);
		return;
	}
	switch (why) {
	case WF_READY_WOKEN:
		put_woken(vp, t, entry);
		break;
	case WF_READY_NEW:
	case WF_READY_REACQUIRING:
		if (is_worth_wake(vp, t))
			push_stealable(vp, entry);
		else
			wf_queue_push_interactive(vp, entry);
		break;
	case WF_READY_YIELDED: /* t was real-time until a moment ago */
		wf_queue_push_tail(vp, &vp->batch, entry);
		break;
	case WF_READY_PREEMPTED:
		put_displaced(vp, t, entry, true);
		break;
	case WF_READY_EXPIRED:
		put_displaced(vp, t, entry, false);
		break;
	}
	/* At the end of a slice (EXPIRED) the monitor is awake, since it ends
	 * slices. */
	if (why != WF_READY_EXPIRED)
		wf_queue_check_monitor(vp);
}

void wf_queue_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why)
{
	uint64_t entry = wf_entry_started(t);

	if (why == WF_READY_WOKEN && wf_queue_is_plain_wake(vp, t)) {
		/* SCHED_QUEUE-3: the owner's slot */
		wf_store_relaxed(&vp->next_slot, entry);
	} else if (why == WF_READY_YIELDED && t->rt_priority == 0) {
		wf_queue_push_tail(vp, &vp->batch, entry);
	} else {
		put(vp, t, why);
		return;
	}
	wf_queue_check_monitor(vp);
}

void wf_queue_put_new(struct wf_vp *vp, struct wf_thread *t)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->runs_long))) {
		put(vp, t, WF_READY_NEW);
		return;
	}
	wf_queue_push_interactive(vp, wf_entry_not_started(t));
	wf_queue_check_monitor(vp);
}

/*
 * The order loses no wake. The pushing thread pushes, fences, then checks for a
 * sleeping VP. A VP that goes to sleep announces itself, fences, then checks
 * the queues.
 */
void wf_queue_push_remote(struct wf_vp *vp, const uint64_t *entries,
			  uint32_t nr)
{
	wf_inject_push(vp != NULL ? &vp->remote : &wf_sched.inject, entries,
		       nr);
	if (vp != NULL)
		atomic_fetch_or(&vp->pending, WF_PENDING_REMOTE);
	/* seq_cst: pairs with the fence in wf_idle_begin. */
	wf_fence_seq_cst();
	if (vp != NULL)
		wf_idle_wake(vp);
	else
		wf_idle_wake_any();
}

void wf_queue_put_remote(struct wf_vp *vp, struct wf_thread *t,
			 enum wf_ready why)
{
	uint64_t entry = entry_of(t, why);

	if (WF_UNLIKELY(t->rt_priority != 0))
		wf_realtime_put(NULL, t, why);
	else
		wf_queue_push_remote(vp, &entry, 1);
	wf_queue_check_monitor(NULL);
}
