/* SPDX-License-Identifier: MIT */
/*
 * Load balancing between busy VPs. For each VP the monitor finds the one with
 * the longest interactive run queue, and moves half of the difference. It moves
 * one CPU-bound thread if another VP has two more of them, or on every fourth
 * tick one more. So three CPU-bound threads on two VPs get equal CPU time.
 */
#include "sched/load_balance.h"

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

	return wf_runq_len(&vp->batch) +
	       (t != NULL && (t->from_batch || t->rt_priority != 0) ? 1 : 0);
}

static uint32_t waiting(const struct wf_vp *vp)
{
	return wf_runq_len(&vp->interactive) + runs_realtime(vp);
}

/*
 * Returns the VP other than vp with the highest count(); NULL if no VP has more
 * than vp.
 */
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
	return wf_runq_take_half(&from->interactive, ret_entries,
				 more < max ? more : max);
}

/*
 * True if the only thread of vp's batch run queue is to run there at the next
 * pick. In another VP's queue it would have to wait again.
 */
static bool has_only_next(const struct wf_vp *vp)
{
	return wf_vp_is_batch_due(vp) && wf_runq_len(&vp->batch) == 1;
}

static uint32_t take_computing(struct wf_vp *vp, uint64_t *ret_entry,
			       bool is_fourth_tick)
{
	struct wf_vp *from = with_most(vp, computing);

	if (from == NULL || has_only_next(from) ||
	    (computing(from) < computing(vp) + 2 && !is_fourth_tick))
		return 0;
	return wf_runq_pop(&from->batch, ret_entry) ? 1 : 0;
}

void wf_load_balance_vp(struct wf_vp *vp, bool is_fourth_tick)
{
	uint64_t entries[WF_RUNQ_SIZE / 2];
	uint32_t nr;

	if (runs_realtime(vp))
		return;
	nr = take_waiting(vp, entries, WF_RUNQ_SIZE / 2 - 1);

	nr += take_computing(vp, &entries[nr], is_fourth_tick);
	/* Wakes vp, too: it was busy a moment ago, but may sleep by now. */
	if (nr > 0)
		wf_queue_push_remote(vp, entries, nr);
}

void wf_load_balance_check_stuck(struct wf_vp *vp)
{
	struct wf_vp_watch *w = &vp->watch;
	uint32_t head = wf_runq_head(&vp->interactive);
	bool is_stuck = head == w->interactive_head &&
			wf_queue_nr_interactive(vp) + wf_queue_nr_batch(vp) > 0;

	if (is_stuck) {
		if (wf_runq_len(&vp->interactive) > 0)
			wf_store_relaxed(&wf_sched.stealable,
					 WF_STEALABLE_MANY);
		/* At the second tick in a row wakes a sleeper though a VP
		 * polls. The poller had a whole tick to take the work, so it
		 * has no CPU itself. */
		if (w->is_stuck)
			wf_idle_wake_sleeper();
		else
			wf_idle_wake_any();
	}
	w->is_stuck = is_stuck;
	w->interactive_head = head;
}
