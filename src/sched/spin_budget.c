/* SPDX-License-Identifier: MIT */
/*
 * The spin budget is the time for which an idle VP polls before it sleeps.
 * Polling pays if work comes before the poll has cost more than a sleep and a
 * wake. The length of the next idle time is not known, so the spin budget
 * follows the last ones. It doubles after an idle time that a longer spin
 * budget would have covered. It halves after an idle time too long for any spin
 * budget. Below LEAST_NS it is 0. It grows again when idle times are short,
 * whether the VP polls or sleeps in them.
 *
 * If another kernel thread wants the CPU, the kernel takes it from a polling
 * VP. Then the VP lets idle times pass without polling, twice as many each time
 * that it happens.
 *
 * Rejected: to measure in which part of idle times polling paid. A VP that does
 * not poll learns nothing from that, so it would have to poll in vain now and
 * then.
 */
#include "sched/spin_budget.h"

enum {
	/* The least spin budget: in a shorter time a VP could poll only
	 * once. */
	LEAST_NS = 4 * 1000,
	/* Polling pays for the time that two wakes cost: a wake through the
	 * kernel costs both the waker and the sleeper. */
	WORTH_IN_WAKES = 2,
	/* The least time for which polling is worth it, so that a VP polls for
	 * a word that changes every 20 us where wakes are quick. If no doorbell
	 * announces a change, a sleeping VP notices it only at the monitor's
	 * next tick, later than by any wake. */
	LEAST_WORTH_NS = 32 * 1000,
	/* At most so many idle times pass without polling: then a poll finds
	 * out whether the CPUs have become free. */
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
