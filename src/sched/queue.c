/*
 * Each VP has a LIFO slot, ring I and ring B; the process has one injection
 * queue. wf_queue_pick's order is DESIGN section 4's:
 *
 *     what the inbox holds is sorted in first
 *     real-time threads (sched/realtime.h), but in others' share (share.h)
 *     B's head, if the tick said so
 *     LIFO, at most 16 in a row while I has work
 *     own I; the injection queue; others' I; own B; others' B
 *
 * Q1. A started thread's entry is in exactly one of: a LIFO slot, a ring, the
 *     injection queue, an inbox, or the hands of who took it out.
 * Q2. Rings are pushed to by the VP's owner only; anybody may take.
 * Q3. The LIFO slot is its owner's alone; the monitor only reads whether it
 *     is empty. A thread in it has to wait for the owner's next pick: the
 *     tick preempts an owner that computes meanwhile, and gives the VP of one
 *     that sleeps in the kernel to another carrier, which is its owner then.
 *
 * Rejected: a LIFO slot that others may take from, by an exchange on each side
 * of every wake. It costs as much as half a switch, for what is left in it
 * only when its owner blocks or computes.
 * Rejected: one queue for all (its lock is the bottleneck of every wake);
 * fair queueing by virtual time (a clock read per switch, and no better).
 */
#include "sched/queue.h"

#include "mem/slot.h"
#include "sched/entry.h"
#include "sched/idle.h"
#include "sched/realtime.h"
#include "sched/share.h"
#include "sched/start.h"
#include "sched/vp_io.h"

enum { LIFO_RUN_MAX = 16, BATCH = 64 };

/* --- putting ------------------------------------------------------------ */

/* Half of a full ring moves to the injection queue, under one lock. */
static void spill(struct wf_vp *vp, struct wf_runq *ring)
{
	uint64_t *half = vp->spilled;
	uint32_t nr = wf_runq_take_half(ring, half, WF_RUNQ_SIZE / 2);
	uint32_t nr_live = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!wf_entry_is_stale(half[i]))
			half[nr_live++] = half[i];
	}
	if (nr_live > 0)
		wf_inject_push(&wf_sched.inject, half, nr_live);
}

static void push_tail(struct wf_vp *vp, struct wf_runq *ring, uint64_t entry)
{
	while (!wf_runq_push_tail(ring, entry))
		spill(vp, ring);
}

static void push_head(struct wf_vp *vp, struct wf_runq *ring, uint64_t entry)
{
	/* In an empty ring the same, but positions count up. */
	if (wf_runq_len(ring) == 0 || !wf_runq_push_head(ring, entry))
		push_tail(vp, ring, entry);
}

static void push_i(struct wf_vp *vp, uint64_t entry)
{
	push_tail(vp, &vp->ring_i, entry);
	if (wf_runq_len(&vp->ring_i) >= 2 &&
	    wf_load_relaxed(&wf_sched.surplus) == 0)
		wf_store_relaxed(&wf_sched.surplus, WF_SURPLUS_SOME);
}

/*
 * What becomes runnable stays with its waker: a wake through the kernel costs
 * more than most threads run. Where they run for longer, or for one that has
 * computed before, a sleeping VP is worth its wake.
 */
static bool is_shared(const struct wf_vp *vp, const struct wf_thread *t)
{
	return WF_UNLIKELY(wf_load_relaxed(&vp->runs_long) ||
			   wf_thread_was_hog(t)) &&
	       wf_idle_is_any();
}

static WF_COLD void share(struct wf_vp *vp, uint64_t entry)
{
	push_tail(vp, &vp->ring_i, entry);
	wf_store_relaxed(&wf_sched.surplus, WF_SURPLUS_WORTH);
	wf_fence_seq_cst(); /* pairs with the one in wf_idle_begin */
	wf_idle_wake_any();
}

/*
 * The monitor sleeps when nothing waits; whoever makes something wait wakes
 * it. No fence: the monitor's membarrier orders our push before our load. The
 * owner of an idle VP takes what it queues at once, and looks when it runs it
 * (get_busy of wait/agent.c).
 */
static void see_monitor(const struct wf_vp *vp)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_sched.monitor_asleep) != 0) &&
	    (vp == NULL || wf_load_relaxed(&vp->cur) != NULL))
		wf_idle_wake_monitor();
}

static uint64_t entry_of(const struct wf_thread *t, enum wf_ready why)
{
	return why == WF_READY_NEW ? wf_entry_unstarted(t) :
				     wf_entry_started(t);
}

static void put_woken(struct wf_vp *vp, const struct wf_thread *t,
		      uint64_t entry)
{
	uint64_t old;

	if (is_shared(vp, t)) {
		share(vp, entry);
		return;
	}
	old = wf_load_relaxed(&vp->lifo); /* Q3 */
	wf_store_relaxed(&vp->lifo, entry);
	if (old != WF_ENTRY_NONE)
		push_i(vp, old);
}

/* Who computes is worth the wake of a VP that has nothing to run. */
static void put_displaced(struct wf_vp *vp, const struct wf_thread *t,
			  uint64_t entry, bool is_next)
{
	if (!wf_thread_is_hog(t))
		push_i(vp, entry);
	else if (wf_idle_is_any())
		wf_queue_offer(NULL, &entry, 1);
	else if (is_next)
		push_head(vp, &vp->ring_b, entry);
	else
		push_tail(vp, &vp->ring_b, entry);
}

void wf_queue_put(struct wf_vp *vp, struct wf_thread *t, enum wf_ready why)
{
	uint64_t entry = entry_of(t, why);

	if (WF_UNLIKELY(t->rt_priority != 0)) {
		wf_realtime_put(vp, t, why);
		see_monitor(vp);
		return;
	}
	switch (why) {
	case WF_READY_WOKEN:
		put_woken(vp, t, entry);
		break;
	case WF_READY_NEW:
	case WF_READY_REJOINED:
		if (is_shared(vp, t))
			share(vp, entry);
		else
			push_i(vp, entry);
		break;
	case WF_READY_YIELDED:
		push_tail(vp, &vp->ring_b, entry);
		break;
	case WF_READY_PREEMPTED:
		put_displaced(vp, t, entry, true);
		break;
	case WF_READY_EXPIRED:
		put_displaced(vp, t, entry, false);
		break;
	}
	/* Who ends slices knows of it. */
	if (why != WF_READY_EXPIRED)
		see_monitor(vp);
}

/*
 * Whoever pushes fences, then looks for a sleeper; the sleeper announces
 * itself, fences, then looks at the queues.
 */
void wf_queue_offer(struct wf_vp *vp, const uint64_t *entries, uint32_t nr)
{
	wf_inject_push(vp != NULL ? &vp->inbox : &wf_sched.inject, entries, nr);
	if (vp != NULL)
		atomic_fetch_or(&vp->look, WF_LOOK_GIFTS);
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
		wf_queue_offer(vp, &entry, 1);
	see_monitor(NULL);
}

/* --- picking ------------------------------------------------------------ */

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
		push_i(vp, entry);
	else if (is_inbox)
		push_head(vp, &vp->ring_b, entry);
	else
		push_tail(vp, &vp->ring_b, entry);
}

/* What others have asked the owner to see. */
static void look(struct wf_vp *vp)
{
	uint64_t *entries = vp->taken;
	uint32_t nr;

	/* seq_cst: not after the look at the queues, or a later request
	 * would be wiped out. */
	atomic_fetch_and(&vp->look, ~(uint32_t)WF_LOOK_GIFTS);
	while ((nr = wf_inject_pop(&vp->inbox, entries, BATCH)) > 0) {
		for (uint32_t i = 0; i < nr; i++)
			sort_in(vp, entries[i], true);
	}
	/* The tick asks too, so that the injection queue never starves. */
	if (wf_inject_pop(&wf_sched.inject, entries, 1) > 0)
		sort_in(vp, entries[0], false);
	see_monitor(vp);
}

static uint64_t take_lifo(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->lifo); /* Q3 */

	if (entry != WF_ENTRY_NONE)
		wf_store_relaxed(&vp->lifo, WF_ENTRY_NONE);
	return entry;
}

static void flush_lifo(struct wf_vp *vp)
{
	uint64_t entry = take_lifo(vp);

	if (entry != WF_ENTRY_NONE)
		push_i(vp, entry);
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
	uint32_t share = wf_inject_len(&wf_sched.inject) / wf_sched.nr_vps + 1;
	uint32_t nr;

	nr = wf_inject_pop(&wf_sched.inject, entries,
			   share < BATCH ? share : BATCH);
	for (uint32_t i = 1; i < nr; i++)
		sort_in(vp, entries[i], false);
	if (nr > 1)
		see_monitor(vp);
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
		push_i(vp, got[k]);
	if (nr > 1)
		see_monitor(vp);
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
static uint64_t pop(struct wf_runq *ring)
{
	uint64_t entry = WF_ENTRY_NONE;

	if (wf_sched.nr_vps == 1)
		wf_runq_pop_alone(ring, &entry);
	else
		wf_runq_pop(ring, &entry);
	return entry;
}

static uint64_t next_of_i(struct wf_vp *vp)
{
	uint64_t entry;

	if (vp->lifo_run < LIFO_RUN_MAX) {
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
	if (WF_UNLIKELY(wf_load_relaxed(&vp->turn_b))) {
		wf_store_relaxed(&vp->turn_b, false);
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

/* Not one of B's unless is_any or it is B's turn. */
static WF_NOINLINE struct wf_thread *take_next(struct wf_vp *vp, bool is_any)
{
	for (;;) {
		bool from_b, is_fresh;
		uint64_t entry = next_entry(vp, is_any, &from_b);
		struct wf_thread *t;

		if (entry == WF_ENTRY_NONE)
			return NULL;
		t = wf_entry_take(entry, &is_fresh);
		if (t == NULL)
			continue; /* a joiner has it */
		if (is_fresh) {
			wf_count_own(&vp->counters, claims);
			wf_start_prepare(t, &vp->pool);
		}
		t->from_b = from_b;
		return t;
	}
}

/* Gifts are sorted in; then who goes before all others. */
static WF_NOINLINE struct wf_thread *pick(struct wf_vp *vp, bool is_any)
{
	struct wf_thread *t;

	if (WF_LIKELY(wf_load_relaxed(&vp->look) == 0))
		return take_next(vp, is_any);
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

struct wf_thread *wf_queue_pick(struct wf_vp *vp)
{
	uint64_t entry = wf_load_relaxed(&vp->lifo);
	struct wf_thread *t;

	/* The thread just woken, and nobody wants anything else. */
	if (WF_UNLIKELY(entry == WF_ENTRY_NONE ||
			vp->lifo_run >= LIFO_RUN_MAX ||
			wf_load_relaxed(&vp->look) != 0 ||
			wf_load_relaxed(&vp->turn_b)))
		return pick(vp, true);
	wf_store_relaxed(&vp->lifo, WF_ENTRY_NONE); /* Q3 */
	vp->lifo_run++;
	t = wf_table_at((uint32_t)entry);
	t->from_b = false;
	return t;
}

struct wf_thread *wf_queue_pick_waiting(struct wf_vp *vp)
{
	return pick(vp, false);
}

bool wf_queue_may_hand_off(struct wf_vp *vp)
{
	if (wf_load_relaxed(&vp->look) != 0 || wf_load_relaxed(&vp->turn_b))
		return false;
	if (WF_LIKELY(vp->lifo_run < LIFO_RUN_MAX)) {
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
