/*
 * The monitor evens out the rings: half of the surplus of the longest ring I,
 * and one of the threads that compute if another VP has more of them: two
 * more, or on every fourth tick one, so that three on two VPs take turns.
 */
#include "sched/balance.h"

#include "sched/idle.h"
#include "sched/queue.h"

static bool runs_realtime(const struct wf_vp *vp)
{
	const struct wf_thread *t = wf_load_acquire(&vp->cur);

	return t != NULL && t->rt_priority != 0;
}

static uint32_t computing(const struct wf_vp *vp)
{
	const struct wf_thread *t = wf_load_acquire(&vp->cur);

	return wf_runq_len(&vp->ring_b) +
	       (t != NULL && (t->from_b || t->rt_priority != 0) ? 1 : 0);
}

static uint32_t waiting(const struct wf_vp *vp)
{
	return wf_runq_len(&vp->ring_i) + runs_realtime(vp);
}

/* The one with most, other than vp; NULL if none has more. */
static struct wf_vp *with_most(const struct wf_vp *vp,
			       uint32_t (*count)(const struct wf_vp *))
{
	struct wf_vp *best = NULL;
	uint32_t most = count(vp);

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *other = &wf_sched.vps[i];
		uint32_t nr = count(other);

		if (other != vp && nr > most) {
			best = other;
			most = nr;
		}
	}
	return best;
}

static uint32_t take_waiting(struct wf_vp *vp, uint64_t *ret_entries,
			     uint32_t max)
{
	struct wf_vp *from = with_most(vp, waiting);
	uint32_t more = from != NULL ? waiting(from) - waiting(vp) : 0;

	if ((int32_t)more < 2)
		return 0;
	more /= 2;
	return wf_runq_take_half(&from->ring_i, ret_entries,
				 more < max ? more : max);
}

/* The one whose turn has just come would else never find it there. */
static bool has_only_next(const struct wf_vp *vp)
{
	return wf_vp_has_turn_of_b(vp) && wf_runq_len(&vp->ring_b) == 1;
}

static uint32_t take_computing(struct wf_vp *vp, uint64_t *ret_entry,
			       bool is_fourth_tick)
{
	struct wf_vp *from = with_most(vp, computing);

	if (from == NULL || has_only_next(from) ||
	    (computing(from) < computing(vp) + 2 && !is_fourth_tick))
		return 0;
	return wf_runq_pop(&from->ring_b, ret_entry) ? 1 : 0;
}

void wf_balance_vp(struct wf_vp *vp, bool is_fourth_tick)
{
	uint64_t entries[WF_RUNQ_SIZE / 2];
	uint32_t nr;

	if (runs_realtime(vp))
		return;
	nr = take_waiting(vp, entries, WF_RUNQ_SIZE / 2 - 1);

	nr += take_computing(vp, &entries[nr], is_fourth_tick);
	/* vp was busy a moment ago and may be asleep by now. */
	if (nr > 0)
		wf_queue_offer(vp, entries, nr);
}

void wf_balance_see_stuck(struct wf_vp *vp)
{
	struct wf_vp_watch *w = &vp->watch;
	uint32_t head = wf_runq_head(&vp->ring_i);
	bool is_stuck = head == w->ring_head &&
			wf_queue_waiting_i(vp) + wf_queue_waiting_b(vp) > 0;

	if (is_stuck) {
		if (wf_runq_len(&vp->ring_i) > 0)
			wf_store_relaxed(&wf_sched.surplus, WF_SURPLUS_WORTH);
		/* A poller has had its time and does not run itself. */
		if (w->is_stuck)
			wf_idle_wake_sleeper();
		else
			wf_idle_wake_any();
	}
	w->is_stuck = is_stuck;
	w->ring_head = head;
}
