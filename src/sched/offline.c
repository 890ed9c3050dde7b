/* SPDX-License-Identifier: MIT */
/*
 * A VP is offline if WF_PENDING_OFFLINE is set in its word `pending`. The bit
 * makes each pick take the slow path, which gives the VP's threads away and
 * finds none to run.
 *
 * OFFLINE-1. The bit is set once and never cleared before wf_vps_init. It is
 *     set by an atomic OR on `pending`. A thread that is put into the remote
 *     queue of a VP comes with an atomic OR on the same word. So one of the two
 *     sees the other. The owner finds the remote entry at the pick after it has
 *     seen the bit, or the putting thread sees the bit and wakes the owner
 *     (wf_idle_wake).
 * OFFLINE-2. An offline VP is idle without being in the idle list. No other
 *     thread counts on an offline VP to take work, and no wake is lost to it.
 * OFFLINE-3. A thread that runs on a VP when that goes offline leaves it at its
 *     next switch. The monitor preempts it as for a real-time thread. If the
 *     thread sleeps in the kernel the monitor takes the VP from it.
 * OFFLINE-4. The owner moves entries from its queues to the injection queue.
 *     wf_requeue_ask may look for one of them meanwhile. The owner sorts after
 *     it has pushed the entries. If the request came before, the owner finds
 *     the entry in the injection queue. If the request comes later, other VPs
 *     find it.
 *
 * Rejected: fewer VPs in wf_sched.nr_vps. Timers, requests to the kernel and
 * running threads of the other VPs would need to move at once.
 * Rejected: VPs that come back when no thread is real-time. A program that
 * changes priorities often would move threads all the time.
 */
#include "sched/offline.h"

#include "os/cpus.h"
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/queue_internal.h"
#include "sched/requeue.h"

void wf_offline_begin_slow(void)
{
	const struct wf_thread *me = wf_self;
	struct wf_vp *own = me != NULL ? wf_vp_of(me) : NULL;
	uint32_t nr_vps = wf_sched.nr_vps, nr_cpus;

	if (atomic_exchange(&wf_sched.has_realtime, true))
		return;
	nr_cpus = wf_os_cpus_allowed(
		wf_load_relaxed(&wf_sched.vps[0].carrier->tid));
	for (uint32_t i = nr_cpus; i < nr_vps; i++) {
		atomic_fetch_or(&wf_sched.vps[i].pending, WF_PENDING_OFFLINE);
		wf_count(offline);
	}
	/* Takes the VP out of the list of idle VPs, if it went idle before it
	 * saw the bit. */
	for (uint32_t i = nr_cpus; i < nr_vps; i++)
		wf_idle_wake(&wf_sched.vps[i]);
	if (nr_cpus >= nr_vps)
		return;
	if (own != NULL && wf_vp_is_offline(own) &&
	    wf_load_relaxed(&own->cur) != NULL)
		wf_vp_ask_own(own, WF_RESCHED_REALTIME);
	wf_idle_wake_monitor();
}

static uint64_t take_one(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->next_slot);

	if (entry != WF_ENTRY_NONE) {
		wf_store_relaxed(&vp->next_slot, WF_ENTRY_NONE);
		return entry;
	}
	if (wf_inject_pop(&vp->remote, &entry, 1) > 0 ||
	    wf_runq_pop(&vp->interactive, &entry) ||
	    wf_runq_pop(&vp->batch, &entry))
		return entry;
	return WF_ENTRY_NONE;
}

/* Takes some of the VP's entries into vp->taken. Returns their number. */
static uint32_t take_some(struct wf_vp *vp)
{
	uint32_t nr = 0;

	while (nr < WF_RUNQ_SIZE / 2) {
		uint64_t entry = take_one(vp);

		if (entry == WF_ENTRY_NONE)
			break;
		if (!wf_entry_is_stale(entry))
			vp->taken[nr++] = entry;
	}
	return nr;
}

void wf_offline_give(struct wf_vp *vp)
{
	uint32_t nr;

	wf_requeue_check(vp);
	/* seq_cst: clears the bit before the read of the remote queue. In the
	 * other order it could clear the bit of a later push. */
	atomic_fetch_and(&vp->pending, ~(uint32_t)WF_PENDING_REMOTE);
	while ((nr = take_some(vp)) > 0) {
		wf_queue_push_remote(NULL, vp->taken, nr);
		wf_queue_check_monitor(NULL);
		wf_requeue_check(vp); /* OFFLINE-4: sorts after the push */
	}
}

bool wf_offline_is_pending(void)
{
	if (!wf_load_relaxed(&wf_sched.has_realtime))
		return false;
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		const struct wf_vp *vp = &wf_sched.vps[i];

		if (wf_vp_is_offline(vp) && wf_load_relaxed(&vp->cur) != NULL)
			return true;
	}
	return false;
}
