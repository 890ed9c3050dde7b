/* SPDX-License-Identifier: MIT */
/*
 * Picks the next thread for a VP, in the order that sched/queue.c gives. Most
 * picks take the next slot, or the first entry of the interactive run queue:
 * these are the short functions at the end. Rarer picks check vp->pending,
 * search the queues in order, and steal from other VPs. SCHED_QUEUE-1 to
 * SCHED_QUEUE-3 are in sched/queue.c.
 */
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/queue_internal.h"
#include "sched/ready.h"
#include "sched/realtime.h"
#include "sched/requeue.h"
#include "sched/start.h"
#include "sched/throttle.h"

enum {
	BATCH = 64,
	PART_MAX = WF_RUNQ_SIZE / 2, /* the size of vp->taken */
};

/*
 * Puts an entry that was taken from elsewhere into the run queue of its
 * thread's kind. A CPU-bound thread from the remote queue goes to the head.
 * Load balancing has taken it from the head of another VP's queue
 * (sched/load_balance.c). Moved again and again in step with the slices, it
 * would never run if it went to the tail.
 */
static void sort_in(struct wf_vp *vp, uint64_t entry, bool is_remote)
{
	struct wf_thread *t = wf_table_at((uint32_t)entry);

	if (wf_entry_is_stale(entry))
		return;
	if (WF_UNLIKELY(t->rt_priority != 0) &&
	    (entry & WF_ENTRY_NOT_STARTED) == 0)
		wf_realtime_put(NULL, t, WF_READY_REACQUIRING);
	else if ((entry & WF_ENTRY_NOT_STARTED) != 0 ||
		 !wf_thread_is_cpu_bound(t))
		wf_queue_push_interactive(vp, entry);
	else if (is_remote)
		wf_queue_push_head(vp, &vp->batch, entry);
	else
		wf_queue_push_tail(vp, &vp->batch, entry);
}

/*
 * Takes this VP's share of the injection queue, up to `most` entries, into
 * vp->taken.
 */
static uint32_t take_part(struct wf_vp *vp, uint32_t most)
{
	uint32_t part = wf_inject_len(&wf_sched.inject) / wf_sched.nr_vps + 1;

	return wf_inject_pop(&wf_sched.inject, vp->taken,
			     part < most ? part : most);
}

/*
 * Does the work that the bits of vp->pending ask for. The tick sets
 * WF_PENDING_REMOTE so that this VP checks the injection queue, and so do
 * kernel threads that wake a thread. Without the bit, a VP with an interactive
 * run queue that is never empty would not check the injection queue. If another
 * VP is idle, this one takes only one entry: the idle VP was woken for the work
 * and takes most of it.
 */
static void check_pending(struct wf_vp *vp)
{
	uint64_t *entries = vp->taken;
	uint32_t nr;

	wf_requeue_check(vp);
	/* seq_cst: clears the bit before the check of the queues. In the other
	 * order it could clear the bit of a later push. */
	atomic_fetch_and(&vp->pending, ~(uint32_t)WF_PENDING_REMOTE);
	while ((nr = wf_inject_pop(&vp->remote, entries, BATCH)) > 0) {
		for (uint32_t i = 0; i < nr; i++)
			sort_in(vp, entries[i], true);
	}
	nr = take_part(vp, wf_idle_is_any() ? 1 : PART_MAX);
	for (uint32_t i = 0; i < nr; i++)
		sort_in(vp, entries[i], false);
	wf_queue_check_monitor(vp);
}

/*
 * True if so many picks in a row came from the next slot that another thread
 * has to run.
 */
WF_INLINE bool is_next_slot_over(const struct wf_vp *vp)
{
	return vp->nr_next_picks >= wf_load_relaxed(&vp->most_next_picks);
}

static uint64_t take_next_slot(struct wf_vp *vp)
{
	/* SCHED_QUEUE-3: only the owner takes */
	uint64_t entry = wf_load_relaxed(&vp->next_slot);

	if (entry != WF_ENTRY_NONE)
		wf_store_relaxed(&vp->next_slot, WF_ENTRY_NONE);
	return entry;
}

static void flush_next_slot(struct wf_vp *vp)
{
	uint64_t entry = take_next_slot(vp);

	if (entry != WF_ENTRY_NONE)
		wf_queue_push_interactive(vp, entry);
}

void wf_queue_expose(struct wf_vp *vp)
{
	flush_next_slot(vp);
	if ((wf_load_relaxed(&vp->pending) & WF_PENDING_REMOTE) != 0)
		check_pending(vp);
}

static WF_NOINLINE uint64_t take_injected(struct wf_vp *vp)
{
	uint64_t *entries = vp->taken;
	uint32_t nr = take_part(vp, BATCH);

	for (uint32_t i = 1; i < nr; i++)
		sort_in(vp, entries[i], false);
	if (nr > 1)
		wf_queue_check_monitor(vp);
	return nr > 0 ? entries[0] : WF_ENTRY_NONE;
}

/*
 * Takes half of other's interactive run queue, or one entry of its batch run
 * queue. Returns the first entry; the rest goes to vp's queue.
 */
static uint64_t steal_from(struct wf_vp *vp, struct wf_vp *other,
			   bool from_batch)
{
	uint64_t *got = vp->taken;
	uint32_t nr;

	if (from_batch)
		nr = wf_runq_pop(&other->batch, &got[0]) ? 1 : 0;
	else
		nr = wf_runq_take_half(&other->interactive, got,
				       WF_RUNQ_SIZE / 2);
	if (nr == 0)
		return WF_ENTRY_NONE;
	wf_count_own(&vp->counters, steals);
	for (uint32_t k = 1; k < nr; k++)
		wf_queue_push_interactive(vp, got[k]);
	if (nr > 1)
		wf_queue_check_monitor(vp);
	return got[0];
}

static WF_NOINLINE uint64_t steal(struct wf_vp *vp, bool from_batch)
{
	uint32_t nr_vps = wf_sched.nr_vps;

	for (uint32_t i = 1; i < nr_vps; i++) {
		struct wf_vp *other = &wf_sched.vps[(vp->id + i) % nr_vps];
		uint64_t entry = steal_from(vp, other, from_batch);

		if (entry != WF_ENTRY_NONE)
			return entry;
	}
	return WF_ENTRY_NONE;
}

/*
 * True if there is stealable work. A single entry counts only if it is worth a
 * wake.
 */
static bool has_stealable(uint32_t stealable)
{
	uint32_t least = stealable == WF_STEALABLE_MANY ? 1 : 2;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (wf_runq_len(&wf_sched.vps[i].interactive) >= least)
			return true;
	}
	return false;
}

/*
 * Steals from other VPs' interactive run queues. Clears wf_sched.stealable
 * first and sets it again if there is more. So it does not clear the mark of
 * work that another VP pushes meanwhile.
 */
static WF_NOINLINE uint64_t steal_interactive(struct wf_vp *vp)
{
	uint32_t stealable = wf_load_relaxed(&wf_sched.stealable);
	uint64_t entry;

	wf_store_relaxed(&wf_sched.stealable, WF_STEALABLE_NONE);
	wf_fence_seq_cst(); /* pairs with the fence in push_stealable() */
	entry = steal(vp, false);
	if (entry != WF_ENTRY_NONE && has_stealable(stealable))
		wf_store_relaxed(&wf_sched.stealable, stealable);
	return entry;
}

/*
 * Takes the first entry. With one VP no other VP steals, so no CAS is needed.
 */
WF_INLINE uint64_t pop(struct wf_runq *queue)
{
	uint64_t entry = WF_ENTRY_NONE;

	if (wf_sched.nr_vps == 1)
		wf_runq_pop_alone(queue, &entry);
	else
		wf_runq_pop(queue, &entry);
	return entry;
}

/* With one VP there is nothing to steal. */
WF_INLINE bool is_elsewhere(bool is_alone)
{
	return wf_inject_len(&wf_sched.inject) != 0 ||
	       (!is_alone &&
		wf_load_relaxed(&wf_sched.stealable) != WF_STEALABLE_NONE);
}

/*
 * Prefetches data of the threads behind the picked one: with many threads, the
 * caches have lost it. It takes the frames of the second entry and the struct
 * of the third. If another VP takes them, the prefetch was for nothing. Returns
 * t, so that the caller can end with this call.
 */
static WF_NOINLINE struct wf_thread *
prefetch_following(const struct wf_runq *queue, struct wf_thread *t)
{
	uint64_t second = wf_runq_peek(queue, 0);
	uint64_t third = wf_runq_peek(queue, 1);

	if ((second & WF_ENTRY_NOT_STARTED) == 0)
		wf_ready_prefetch(wf_table_at((uint32_t)second),
				  WF_LINES_OF_YIELD);
	__builtin_prefetch(wf_table_at((uint32_t)third), 1);
	return t;
}

static uint64_t next_interactive(struct wf_vp *vp)
{
	uint64_t entry;

	if (!is_next_slot_over(vp)) {
		entry = take_next_slot(vp);
		if (entry != WF_ENTRY_NONE) {
			vp->nr_next_picks++;
			return entry;
		}
	} else {
		flush_next_slot(vp);
	}
	vp->nr_next_picks = 0;
	entry = wf_runq_is_empty(&vp->interactive) ? WF_ENTRY_NONE :
						     pop(&vp->interactive);
	if (entry != WF_ENTRY_NONE)
		return entry;
	if (WF_UNLIKELY(wf_inject_len(&wf_sched.inject) != 0))
		entry = take_injected(vp);
	if (entry == WF_ENTRY_NONE &&
	    wf_load_relaxed(&wf_sched.stealable) != WF_STEALABLE_NONE)
		entry = steal_interactive(vp);
	return entry;
}

static uint64_t next_entry(struct wf_vp *vp, bool is_any, bool *ret_is_batch)
{
	uint64_t entry = WF_ENTRY_NONE;

	*ret_is_batch = true;
	if (WF_UNLIKELY(wf_vp_is_batch_due(vp))) {
		atomic_fetch_and(&vp->pending, ~(uint32_t)WF_PENDING_BATCH);
		entry = pop(&vp->batch);
		if (entry != WF_ENTRY_NONE)
			return entry;
	}
	entry = next_interactive(vp);
	*ret_is_batch = entry == WF_ENTRY_NONE;
	if (!is_any)
		return entry;
	if (entry == WF_ENTRY_NONE)
		entry = pop(&vp->batch);
	if (entry == WF_ENTRY_NONE && wf_sched.nr_vps > 1)
		entry = steal(vp, true);
	return entry;
}

/*
 * Returns the thread of an entry, ready to run; NULL if a joiner has claimed
 * it.
 */
static struct wf_thread *take(struct wf_vp *vp, uint64_t entry, bool from_batch)
{
	bool is_fresh;
	struct wf_thread *t = wf_entry_take(entry, &is_fresh);

	if (t == NULL)
		return NULL;
	if (is_fresh) {
		wf_count_own(&vp->counters, claims);
		wf_start_prepare(t, &vp->pool);
	}
	t->from_batch = from_batch;
	return t;
}

static WF_NOINLINE struct wf_thread *search(struct wf_vp *vp, bool is_any)
{
	struct wf_thread *t = NULL;

	while (t == NULL) {
		bool from_batch;
		uint64_t entry = next_entry(vp, is_any, &from_batch);

		if (entry == WF_ENTRY_NONE)
			return NULL;
		t = take(vp, entry, from_batch);
	}
	return t;
}

static WF_NOINLINE struct wf_thread *
take_or_search(struct wf_vp *vp, uint64_t entry, bool from_batch, bool is_any)
{
	struct wf_thread *t = take(vp, entry, from_batch);

	return t != NULL ? t : search(vp, is_any);
}

/*
 * Picks the first entry of a queue, which usually is a thread that has run
 * before.
 */
WF_INLINE struct wf_thread *take_first_of(struct wf_vp *vp, bool is_any,
					  bool is_alone)
{
	struct wf_runq *queue = &vp->interactive;
	uint64_t entry;
	struct wf_thread *t;
	bool from_batch;

	vp->nr_next_picks = 0;
	from_batch = wf_runq_is_empty(queue);
	if (from_batch) {
		if (!is_any || is_elsewhere(is_alone))
			return search(vp, is_any);
		queue = &vp->batch;
	}
	if (WF_UNLIKELY(is_alone ? !wf_runq_pop_alone(queue, &entry) :
				   !wf_runq_pop(queue, &entry)))
		return search(vp, is_any);
	if (WF_UNLIKELY((entry & WF_ENTRY_NOT_STARTED) != 0))
		return take_or_search(vp, entry, from_batch, is_any);
	t = wf_table_at((uint32_t)entry);
	t->from_batch = from_batch;
	if (WF_UNLIKELY(wf_ready_is_of_many(t)))
		return prefetch_following(queue, t);
	return t;
}

static WF_NOINLINE struct wf_thread *take_first_of_several(struct wf_vp *vp,
							   bool is_any)
{
	return take_first_of(vp, is_any, false);
}

/* As take_first_of. The pop needs no CAS with one VP, as no other VP steals. */
WF_INLINE struct wf_thread *take_first(struct wf_vp *vp, bool is_any)
{
	if (wf_sched.nr_vps > 1)
		return take_first_of_several(vp, is_any);
	return take_first_of(vp, is_any, true);
}

/*
 * Picks a thread, in the order of sched/queue.c. A batch thread only if is_any
 * is true or the batch run queue is due.
 */
static struct wf_thread *take_next(struct wf_vp *vp, bool is_any)
{
	if (wf_load_relaxed(&vp->next_slot) != WF_ENTRY_NONE ||
	    wf_vp_is_batch_due(vp))
		return search(vp, is_any);
	return take_first(vp, is_any);
}

/*
 * Picks when vp->pending is not 0: does the pending work first, and takes
 * real-time threads before all others.
 */
static WF_COLD struct wf_thread *check_and_pick(struct wf_vp *vp, bool is_any)
{
	struct wf_thread *t;

	if (wf_vp_is_offline(vp)) {
		wf_offline_give(vp);
		return NULL;
	}
	check_pending(vp);
	t = wf_throttle_is_on(vp) ? NULL : wf_realtime_take(1);
	if (t == NULL)
		t = take_next(vp, is_any);
	if (t == NULL && is_any && wf_throttle_is_on(vp)) {
		wf_throttle_end(vp); /* no other thread is left to run */
		t = wf_realtime_take(1);
	}
	return t;
}

struct wf_thread *wf_queue_pick_other(struct wf_vp *vp, bool is_any)
{
	check_pending(vp);
	return take_next(vp, is_any);
}

/*
 * Takes the thread of the next slot. `entry` is the slot's entry, and
 * vp->pending is 0.
 */
WF_INLINE struct wf_thread *run_next_slot(struct wf_vp *vp, uint64_t entry)
{
	struct wf_thread *t = wf_table_at((uint32_t)entry);

	/* SCHED_QUEUE-3: only the owner takes from the slot */
	wf_store_relaxed(&vp->next_slot, WF_ENTRY_NONE);
	vp->nr_next_picks++;
	t->from_batch = false;
	return t;
}

WF_INLINE struct wf_thread *pick_plain(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->next_slot);

	if (entry == WF_ENTRY_NONE)
		return take_first(vp, true);
	if (WF_UNLIKELY(is_next_slot_over(vp)))
		return search(vp, true);
	return run_next_slot(vp, entry);
}

WF_LINK_INLINE struct wf_thread *wf_queue_pick_woken(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->next_slot);

	if (WF_UNLIKELY(entry == WF_ENTRY_NONE || is_next_slot_over(vp) ||
			wf_load_relaxed(&vp->pending) != 0))
		return NULL;
	return run_next_slot(vp, entry);
}

WF_LINK_INLINE struct wf_thread *wf_queue_pick_plain(struct wf_vp *vp)
{
	return pick_plain(vp);
}

struct wf_thread *wf_queue_pick(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->pending) != 0))
		return check_and_pick(vp, true);
	return pick_plain(vp);
}

struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->pending) != 0))
		return check_and_pick(vp, false);
	return take_next(vp, false);
}

WF_LINK_INLINE bool wf_queue_may_switch_to(struct wf_vp *vp)
{
	if (wf_load_relaxed(&vp->pending) != 0)
		return false;
	if (WF_LIKELY(!is_next_slot_over(vp))) {
		vp->nr_next_picks++;
		return true;
	}
	/* Drops entries of not-yet-started threads that joiners have
	 * claimed. */
	wf_runq_drop(&vp->interactive, wf_entry_is_stale);
	if (wf_runq_len(&vp->interactive) + wf_inject_len(&wf_sched.inject) > 0)
		return false;
	vp->nr_next_picks = 1;
	return true;
}
