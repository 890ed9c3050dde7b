/* SPDX-License-Identifier: MIT */
/*
 * A thread that makes another one real-time does not know where that one is,
 * and only a VP's owner may change the VP's queues. So the caller asks all VPs
 * to sort their queues at their next picks. The VP that seems to have the
 * thread in a queue is made to pick soon.
 *
 * REQUEUE-1. A kernel thread that queues a thread reads its rt_priority just
 *     before. The caller writes rt_priority, then runs a membarrier. A kernel
 *     thread that has read the old value has by then also stored that the
 *     thread neither waits nor runs. So the thread is in a queue, or about to
 *     be.
 * REQUEUE-2. An owner that has read an old rt_priority queues the thread before
 *     its next pick, and that pick sees the request. The pick also searches the
 *     injection queue, where the thread may have been put meanwhile.
 * REQUEUE-3. A queue keeps its order: its owner takes each entry out once and
 *     puts it back. Other VPs may take some entries at the same time.
 *
 * Rejected: a second entry for the thread, which makes the first one stale.
 * Each pick would have to check the thread first.
 */
#include "sched/requeue.h"

#include "os/kthread.h"
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/queue_internal.h"
#include "sched/realtime.h"
#include "sched/start.h"

static bool is_in(const struct wf_runq *queue, uint64_t entry)
{
	uint32_t len = wf_runq_len(queue);

	for (uint32_t i = 0; i < len; i++) {
		if (wf_runq_peek(queue, i) == entry)
			return true;
	}
	return false;
}

static bool seems_to_have(const struct wf_vp *vp, uint64_t entry)
{
	return wf_load_relaxed(&vp->next_slot) == entry ||
	       is_in(&vp->interactive, entry) || is_in(&vp->batch, entry) ||
	       wf_inject_len(&vp->remote) != 0;
}

/* --- sorting -------------------------------------------------------------- */

static bool is_realtime_entry(uint64_t entry)
{
	return !wf_entry_is_stale(entry) &&
	       wf_table_at((uint32_t)entry)->rt_priority != 0;
}

/*
 * Puts an entry that was taken out of one of vp's queues where it belongs. A
 * thread that has become real-time goes to the real-time queue.
 */
static void move(struct wf_vp *vp, uint64_t entry, struct wf_vp *disturbed)
{
	bool is_fresh;
	struct wf_thread *t = wf_entry_take(entry, &is_fresh);

	if (t == NULL)
		return;
	if (is_fresh) {
		wf_count_own(&vp->counters, claims);
		wf_start_prepare(t, &vp->pool);
	}
	wf_realtime_put(disturbed, t, WF_READY_REACQUIRING);
}

static bool has_realtime_entry(const struct wf_runq *queue)
{
	uint32_t len = wf_runq_len(queue);

	for (uint32_t i = 0; i < len; i++) {
		uint64_t entry = wf_runq_peek(queue, i);

		if (entry != WF_ENTRY_NONE && is_realtime_entry(entry))
			return true;
	}
	return false;
}

static void sort_queue(struct wf_vp *vp, struct wf_runq *queue,
		       struct wf_vp *disturbed)
{
	uint32_t len = has_realtime_entry(queue) ? wf_runq_len(queue) : 0;

	for (uint64_t entry; len > 0 && wf_runq_pop(queue, &entry); len--) {
		if (is_realtime_entry(entry))
			move(vp, entry, disturbed);
		else
			/* REQUEUE-3: in the same order */
			wf_queue_push_tail(vp, queue, entry);
	}
}

/*
 * Sorts vp's queues. disturbed: vp, if it runs a thread that may have to yield;
 * else NULL.
 */
static void sort(struct wf_vp *vp, struct wf_vp *disturbed)
{
	uint64_t entry = wf_load_relaxed(&vp->next_slot);

	/* seq_cst: clears the bits before the check of the queues. In the other
	 * order it could clear a later request. */
	atomic_fetch_and(&vp->pending, ~(uint32_t)(WF_PENDING_REQUEUE |
						   WF_PENDING_REQUEUE_SOON));
	if (entry != WF_ENTRY_NONE && is_realtime_entry(entry)) {
		wf_store_relaxed(&vp->next_slot, WF_ENTRY_NONE);
		move(vp, entry, disturbed);
	}
	sort_queue(vp, &vp->interactive, disturbed);
	sort_queue(vp, &vp->batch, disturbed);
	while (wf_inject_take(&wf_sched.inject, is_realtime_entry, &entry))
		move(vp, entry, disturbed);
	while (wf_inject_take(&vp->remote, is_realtime_entry, &entry))
		move(vp, entry, disturbed);
}

void wf_requeue_all(struct wf_vp *vp)
{
	sort(vp, NULL);
}

/* --- asking --------------------------------------------------------------- */

/* True if t waits or runs, so that it is in no queue. REQUEUE-1 */
static bool is_anywhere_else(const struct wf_thread *t)
{
	const struct wf_vp *vp = t->vp;

	return wf_load_relaxed(&t->wait_bucket) != NULL ||
	       (vp != NULL && wf_load_relaxed(&vp->cur) == t);
}

void wf_requeue_ask(struct wf_thread *t)
{
	struct wf_vp *own = wf_vp_of(wf_self);
	uint64_t entry;
	bool any_is_urgent = false;

	if (t == wf_self || t->kind != WF_THREAD_MULTIPLEXED)
		return;
	wf_os_pass_barrier();
	if (is_anywhere_else(t))
		return;
	entry = wf_load_relaxed(&t->not_started) == 0 ? wf_entry_started(t) :
							wf_entry_not_started(t);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *vp = &wf_sched.vps[i];
		bool is_urgent = vp != own && seems_to_have(vp, entry);

		atomic_fetch_or(&vp->pending,
				is_urgent ? WF_PENDING_REQUEUE |
						    WF_PENDING_REQUEUE_SOON :
					    WF_PENDING_REQUEUE);
		any_is_urgent |= is_urgent;
	}
	if (own != NULL)
		sort(own, own);
	if (any_is_urgent || own == NULL)
		wf_idle_wake_monitor();
}
