/* SPDX-License-Identifier: MIT */
/*
 * Polling pays if work comes before it would have cost more than a sleep and
 * a wake do. The next idle time is not known, so the spin budget follows the
 * last ones: it doubles after an idle time that a longer budget would have
 * covered, and halves after one that none would have. Below LEAST_NS it is 0,
 * and grows again when idle times are short: those spent asleep count as others
 * do.
 *
 * The kernel takes the CPU from a poller if another thread wants it: the VP
 * lets idle times pass without polling then, twice as many each time it
 * happens.
 *
 * Rejected: the part of idle times in which polling paid. A VP that does not
 * poll learns nothing from it, so it would have to poll in vain now and then.
 */
#include "sched/spin_budget.h"

enum {
	/* Less than this is hardly more than the last poll before a sleep. */
	LEAST_NS = 4 * 1000,
	/* Polling is worth what a wake costs waker and sleeper together. */
	WORTH_IN_WAKES = 2,
	/*
	 * And no less than this, so that what comes every 20 us is waited for
	 * by polling where wakes are quick: of a word that nobody rings for a
	 * sleeper learns by the next tick of the monitor, later than any wake.
	 */
	LEAST_WORTH_NS = 32 * 1000,
	/* So one poll in 64 finds out that the CPUs have become free. */
	MOST_PAUSES = 64,
};

int64_t wf_spin_budget_worth(int64_t wake_ns)
{
	int64_t worth_ns = WORTH_IN_WAKES * wake_ns;

	return worth_ns > LEAST_WORTH_NS ? worth_ns : LEAST_WORTH_NS;
}

int64_t wf_spin_budget_begin(struct wf_spin_budget *b)
{
	if (b->nr_left > 0) {
		b->nr_left--;
		return 0;
	}
	return b->poll_ns;
}

void wf_spin_budget_end(struct wf_spin_budget *b, int64_t idle_ns,
			int64_t worth_ns)
{
	if (idle_ns > worth_ns)
		b->poll_ns /= 2;
	else if (idle_ns > b->poll_ns)
		b->poll_ns = b->poll_ns > 0 ? b->poll_ns * 2 : LEAST_NS;
	if (b->poll_ns > worth_ns)
		b->poll_ns = worth_ns;
	if (b->poll_ns < LEAST_NS)
		b->poll_ns = 0;
}

void wf_spin_budget_polled(struct wf_spin_budget *b, bool was_disturbed)
{
	if (!was_disturbed) {
		b->nr_pauses /= 2;
		return;
	}
	b->nr_pauses = b->nr_pauses > 0 ? b->nr_pauses * 2 : 1;
	if (b->nr_pauses > MOST_PAUSES)
		b->nr_pauses = MOST_PAUSES;
	b->nr_left = b->nr_pauses;
}
