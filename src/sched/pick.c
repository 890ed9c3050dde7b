/*
 * Who runs next: the order and SCHED_QUEUE-1 to SCHED_QUEUE-3 are in
 * sched/queue.c.
 */
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/promotion.h"
#include "sched/queue_internal.h"
#include "sched/ready.h"
#include "sched/realtime.h"
#include "sched/share.h"
#include "sched/start.h"

enum {
	BATCH = 64,
	SHARE_MAX = WF_RUNQ_SIZE / 2, /* what vp->taken holds */
};

/*
 * Of those that compute the monitor takes who was next (sched/balance.c): it
 * is next here. At the tail, one that moves in step with the slices would
 * never run.
 */
static void sort_in(struct wf_vp *vp, uint64_t entry, bool is_inbox)
{
	struct wf_thread *t = wf_table_at((uint32_t)entry);

	if (wf_entry_is_stale(entry))
		return;
	if (WF_UNLIKELY(t->rt_priority != 0) &&
	    (entry & WF_ENTRY_UNSTARTED) == 0)
		wf_realtime_put(NULL, t, WF_READY_REJOINED);
	else if ((entry & WF_ENTRY_UNSTARTED) != 0 || !wf_thread_is_hog(t))
		wf_queue_push_i(vp, entry);
	else if (is_inbox)
		wf_queue_push_head(vp, &vp->ring_b, entry);
	else
		wf_queue_push_tail(vp, &vp->ring_b, entry);
}

/* The VP's part of the injection queue, up to `most`, is in vp->taken then. */
static uint32_t take_share(struct wf_vp *vp, uint32_t most)
{
	uint32_t share = wf_inject_len(&wf_sched.inject) / wf_sched.nr_vps + 1;

	return wf_inject_pop(&wf_sched.inject, vp->taken,
			     share < most ? share : most);
}

/*
 * What others have asked the owner to see. The tick and kernel threads that
 * wake somebody ask too, since where ring I is never empty nothing else looks
 * at the injection queue. An idle VP, which has been woken for what is there,
 * finds the most of it.
 */
static void look(struct wf_vp *vp)
{
	uint64_t *entries = vp->taken;
	uint32_t nr;

	wf_promotion_see(vp);
	/* seq_cst: not after the look at the queues, or a later request
	 * would be wiped out. */
	atomic_fetch_and(&vp->look, ~(uint32_t)WF_LOOK_GIFTS);
	while ((nr = wf_inject_pop(&vp->inbox, entries, BATCH)) > 0) {
		for (uint32_t i = 0; i < nr; i++)
			sort_in(vp, entries[i], true);
	}
	nr = take_share(vp, wf_idle_is_any() ? 1 : SHARE_MAX);
	for (uint32_t i = 0; i < nr; i++)
		sort_in(vp, entries[i], false);
	wf_queue_see_monitor(vp);
}

/* Has the LIFO slot had enough picks in a row? */
WF_INLINE bool is_lifo_over(const struct wf_vp *vp)
{
	return vp->lifo_run >= wf_load_relaxed(&vp->lifo_most);
}

static uint64_t take_lifo(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->lifo); /* SCHED_QUEUE-3 */

	if (entry != WF_ENTRY_NONE)
		wf_store_relaxed(&vp->lifo, WF_ENTRY_NONE);
	return entry;
}

static void flush_lifo(struct wf_vp *vp)
{
	uint64_t entry = take_lifo(vp);

	if (entry != WF_ENTRY_NONE)
		wf_queue_push_i(vp, entry);
}

void wf_queue_lay_open(struct wf_vp *vp)
{
	flush_lifo(vp);
	if ((wf_load_relaxed(&vp->look) & WF_LOOK_GIFTS) != 0)
		look(vp);
}

static WF_NOINLINE uint64_t take_injected(struct wf_vp *vp)
{
	uint64_t *entries = vp->taken;
	uint32_t nr = take_share(vp, BATCH);

	for (uint32_t i = 1; i < nr; i++)
		sort_in(vp, entries[i], false);
	if (nr > 1)
		wf_queue_see_monitor(vp);
	return nr > 0 ? entries[0] : WF_ENTRY_NONE;
}

/* Half of another VP's ring I, or one entry of its ring B. */
static uint64_t steal_from(struct wf_vp *vp, struct wf_vp *other, bool from_b)
{
	uint64_t *got = vp->taken;
	uint32_t nr;

	if (from_b)
		nr = wf_runq_pop(&other->ring_b, &got[0]) ? 1 : 0;
	else
		nr = wf_runq_take_half(&other->ring_i, got, WF_RUNQ_SIZE / 2);
	if (nr == 0)
		return WF_ENTRY_NONE;
	wf_count_own(&vp->counters, steals);
	for (uint32_t k = 1; k < nr; k++)
		wf_queue_push_i(vp, got[k]);
	if (nr > 1)
		wf_queue_see_monitor(vp);
	return got[0];
}

static WF_NOINLINE uint64_t steal(struct wf_vp *vp, bool from_b)
{
	uint32_t nr_vps = wf_sched.nr_vps;

	for (uint32_t i = 1; i < nr_vps; i++) {
		struct wf_vp *other = &wf_sched.vps[(vp->id + i) % nr_vps];
		uint64_t entry = steal_from(vp, other, from_b);

		if (entry != WF_ENTRY_NONE)
			return entry;
	}
	return WF_ENTRY_NONE;
}

/* Does it still hold? A lone entry is no surplus, but may be worth a wake. */
static bool has_surplus(uint32_t surplus)
{
	uint32_t least = surplus == WF_SURPLUS_WORTH ? 1 : 2;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		if (wf_runq_len(&wf_sched.vps[i].ring_i) >= least)
			return true;
	}
	return false;
}

/*
 * The word is cleared first and set again if there is more: what is pushed
 * and said while this one looks is not wiped out.
 */
static WF_NOINLINE uint64_t steal_surplus(struct wf_vp *vp)
{
	uint32_t surplus = wf_load_relaxed(&wf_sched.surplus);
	uint64_t entry;

	wf_store_relaxed(&wf_sched.surplus, WF_SURPLUS_NONE);
	wf_fence_seq_cst(); /* pairs with the one in share() */
	entry = steal(vp, false);
	if (entry != WF_ENTRY_NONE && has_surplus(surplus))
		wf_store_relaxed(&wf_sched.surplus, surplus);
	return entry;
}

/* One VP's rings are robbed by nobody. */
WF_INLINE uint64_t pop(struct wf_runq *ring)
{
	uint64_t entry = WF_ENTRY_NONE;

	if (wf_sched.nr_vps == 1)
		wf_runq_pop_alone(ring, &entry);
	else
		wf_runq_pop(ring, &entry);
	return entry;
}

static bool is_elsewhere(void)
{
	return wf_inject_len(&wf_sched.inject) != 0 ||
	       wf_load_relaxed(&wf_sched.surplus) != WF_SURPLUS_NONE;
}

/*
 * Where many threads take turns, the caches have lost the state of the next
 * one. So the pick fetches the frames of the second entry, and the struct of
 * the third. Another VP may take them: then the fetch was for nothing. Called
 * last, and returns t.
 */
static WF_NOINLINE struct wf_thread *
prefetch_following(const struct wf_runq *ring, struct wf_thread *t)
{
	uint64_t second = wf_runq_peek(ring, 0);
	uint64_t third = wf_runq_peek(ring, 1);

	if ((second & WF_ENTRY_UNSTARTED) == 0)
		wf_ready_prefetch(wf_table_at((uint32_t)second),
				  WF_LINES_OF_YIELD);
	__builtin_prefetch(wf_table_at((uint32_t)third), 1);
	return t;
}

static uint64_t next_of_i(struct wf_vp *vp)
{
	uint64_t entry;

	if (!is_lifo_over(vp)) {
		entry = take_lifo(vp);
		if (entry != WF_ENTRY_NONE) {
			vp->lifo_run++;
			return entry;
		}
	} else {
		flush_lifo(vp);
	}
	vp->lifo_run = 0;
	entry = wf_runq_is_empty(&vp->ring_i) ? WF_ENTRY_NONE :
						pop(&vp->ring_i);
	if (entry != WF_ENTRY_NONE)
		return entry;
	if (WF_UNLIKELY(wf_inject_len(&wf_sched.inject) != 0))
		entry = take_injected(vp);
	if (entry == WF_ENTRY_NONE &&
	    wf_load_relaxed(&wf_sched.surplus) != WF_SURPLUS_NONE)
		entry = steal_surplus(vp);
	return entry;
}

static uint64_t next_entry(struct wf_vp *vp, bool is_any, bool *ret_from_b)
{
	uint64_t entry = WF_ENTRY_NONE;

	*ret_from_b = true;
	if (WF_UNLIKELY(wf_vp_has_turn_of_b(vp))) {
		atomic_fetch_and(&vp->look, ~(uint32_t)WF_LOOK_TURN_B);
		entry = pop(&vp->ring_b);
		if (entry != WF_ENTRY_NONE)
			return entry;
	}
	entry = next_of_i(vp);
	*ret_from_b = entry == WF_ENTRY_NONE;
	if (!is_any)
		return entry;
	if (entry == WF_ENTRY_NONE)
		entry = pop(&vp->ring_b);
	if (entry == WF_ENTRY_NONE && wf_sched.nr_vps > 1)
		entry = steal(vp, true);
	return entry;
}

/* The thread that an entry is for, ready to run; NULL: a joiner has it. */
static struct wf_thread *take(struct wf_vp *vp, uint64_t entry, bool from_b)
{
	bool is_fresh;
	struct wf_thread *t = wf_entry_take(entry, &is_fresh);

	if (t == NULL)
		return NULL;
	if (is_fresh) {
		wf_count_own(&vp->counters, claims);
		wf_start_prepare(t, &vp->pool);
	}
	t->from_b = from_b;
	return t;
}

static WF_NOINLINE struct wf_thread *search(struct wf_vp *vp, bool is_any)
{
	struct wf_thread *t = NULL;

	while (t == NULL) {
		bool from_b;
		uint64_t entry = next_entry(vp, is_any, &from_b);

		if (entry == WF_ENTRY_NONE)
			return NULL;
		t = take(vp, entry, from_b);
	}
	return t;
}

static WF_NOINLINE struct wf_thread *
take_or_search(struct wf_vp *vp, uint64_t entry, bool from_b, bool is_any)
{
	struct wf_thread *t = take(vp, entry, from_b);

	return t != NULL ? t : search(vp, is_any);
}

typedef bool take_entry_fn(struct wf_runq *ring, uint64_t *ret_entry);

/* Most picks find a thread that has run before, first in a ring. */
WF_INLINE struct wf_thread *take_first_of(struct wf_vp *vp, bool is_any,
					  take_entry_fn *take_entry)
{
	struct wf_runq *ring = &vp->ring_i;
	uint64_t entry;
	struct wf_thread *t;
	bool from_b;

	vp->lifo_run = 0;
	from_b = wf_runq_is_empty(ring);
	if (from_b) {
		if (!is_any || is_elsewhere())
			return search(vp, is_any);
		ring = &vp->ring_b;
	}
	if (WF_UNLIKELY(!take_entry(ring, &entry)))
		return search(vp, is_any);
	if (WF_UNLIKELY((entry & WF_ENTRY_UNSTARTED) != 0))
		return take_or_search(vp, entry, from_b, is_any);
	t = wf_table_at((uint32_t)entry);
	t->from_b = from_b;
	if (WF_UNLIKELY(wf_ready_is_of_many(t)))
		return prefetch_following(ring, t);
	return t;
}

static WF_NOINLINE struct wf_thread *take_first_of_several(struct wf_vp *vp,
							   bool is_any)
{
	return take_first_of(vp, is_any, wf_runq_pop);
}

/* One VP's rings are robbed by nobody. */
static struct wf_thread *take_first(struct wf_vp *vp, bool is_any)
{
	if (wf_sched.nr_vps > 1)
		return take_first_of_several(vp, is_any);
	return take_first_of(vp, is_any, wf_runq_pop_alone);
}

/* Not one of B's unless is_any or it is B's turn. */
static struct wf_thread *take_next(struct wf_vp *vp, bool is_any)
{
	if (wf_load_relaxed(&vp->lifo) != WF_ENTRY_NONE ||
	    wf_vp_has_turn_of_b(vp))
		return search(vp, is_any);
	return take_first(vp, is_any);
}

/* Gifts are sorted in; then who goes before all others. */
static WF_COLD struct wf_thread *look_and_pick(struct wf_vp *vp, bool is_any)
{
	struct wf_thread *t;

	if (wf_vp_is_offline(vp)) {
		wf_offline_give(vp);
		return NULL;
	}
	look(vp);
	t = wf_share_is_on(vp) ? NULL : wf_realtime_take(1);
	if (t == NULL)
		t = take_next(vp, is_any);
	if (t == NULL && is_any && wf_share_is_on(vp)) {
		wf_share_end(vp); /* nobody is left to have it */
		t = wf_realtime_take(1);
	}
	return t;
}

struct wf_thread *wf_queue_pick_other(struct wf_vp *vp, bool is_any)
{
	look(vp);
	return take_next(vp, is_any);
}

WF_INLINE struct wf_thread *pick_unasked(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->lifo);
	struct wf_thread *t;

	if (entry == WF_ENTRY_NONE)
		return take_first(vp, true);
	if (WF_UNLIKELY(is_lifo_over(vp)))
		return search(vp, true);
	/* The thread just woken, and nobody wants anything else. */
	wf_store_relaxed(&vp->lifo, WF_ENTRY_NONE); /* SCHED_QUEUE-3 */
	vp->lifo_run++;
	t = wf_table_at((uint32_t)entry);
	t->from_b = false;
	return t;
}

struct wf_thread *wf_queue_pick_unasked(struct wf_vp *vp)
{
	return pick_unasked(vp);
}

struct wf_thread *wf_queue_pick(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->look) != 0))
		return look_and_pick(vp, true);
	return pick_unasked(vp);
}

struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&vp->look) != 0))
		return look_and_pick(vp, false);
	return take_next(vp, false);
}

bool wf_queue_may_hand_off(struct wf_vp *vp)
{
	if (wf_load_relaxed(&vp->look) != 0)
		return false;
	if (WF_LIKELY(!is_lifo_over(vp))) {
		vp->lifo_run++;
		return true;
	}
	/* Offers that joiners have taken are nobody's turn. */
	wf_runq_drop(&vp->ring_i, wf_entry_is_stale);
	if (wf_runq_len(&vp->ring_i) + wf_inject_len(&wf_sched.inject) > 0)
		return false;
	vp->lifo_run = 1;
	return true;
}
