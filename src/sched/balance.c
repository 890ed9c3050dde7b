/*
 * The monitor evens out the rings: half of the surplus of the longest ring I,
 * and one from the longest ring B (DESIGN section 4).
 */
#include "sched/balance.h"

#include "sched/queue.h"

/* Its next turn is ring B's: whose it is must be there still. */
static bool owes_b(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->balance) >= WF_BALANCE_TICK;
}

static struct wf_vp *longest(const struct wf_vp *vp, bool of_b)
{
	struct wf_vp *best = NULL;
	uint32_t best_len = 0;

	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		struct wf_vp *other = &wf_sched.vps[i];
		uint32_t len =
			wf_runq_len(of_b ? &other->ring_b : &other->ring_i);

		if (other != vp && len > best_len && !(of_b && owes_b(other))) {
			best = other;
			best_len = len;
		}
	}
	return best;
}

void wf_balance_vp(struct wf_vp *vp, bool is_fourth_tick)
{
	struct wf_vp *from = longest(vp, false);
	uint64_t entries[WF_RUNQ_SIZE / 2];
	uint32_t nr = 0, mine, theirs;

	mine = wf_runq_len(&vp->ring_i);
	theirs = from != NULL ? wf_runq_len(&from->ring_i) : 0;
	if (theirs > mine + 1)
		nr = wf_runq_take_half(&from->ring_i, entries,
				       (theirs - mine) / 2);
	from = longest(vp, true);
	mine += wf_runq_len(&vp->ring_b);
	theirs = from != NULL ? wf_runq_len(&from->ring_b) +
					wf_runq_len(&from->ring_i) :
				0;
	if (nr < WF_RUNQ_SIZE / 2 && theirs > mine &&
	    (theirs - mine >= 2 || is_fourth_tick) &&
	    wf_runq_pop(&from->ring_b, &entries[nr]))
		nr++;
	/* vp was busy a moment ago and may be asleep by now. */
	if (nr > 0)
		wf_queue_offer(vp, entries, nr);
}
