/* SPDX-License-Identifier: MIT */
/*
 * Spin budget: how long an idle VP polls before it sleeps in the kernel.
 *
 *     int64_t poll_ns = wf_spin_budget_begin(&vp->spin_budget);
 *     ...     polls for at most poll_ns, then sleeps
 *     wf_spin_budget_end(&vp->spin_budget, idle_ns, worth_ns);
 *
 * For the owner of the VP; nothing here blocks.
 */
#ifndef WEFT_SCHED_SPIN_BUDGET_H
#define WEFT_SCHED_SPIN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct wf_spin_budget {
	int64_t poll_ns; /* the present spin budget */
	/* idle times to pass without polling, after a poll in which the kernel
	 * took the CPU away */
	uint32_t nr_pauses;
	uint32_t nr_left; /* how many of nr_pauses are still to come */
};

/* Returns for how long polling pays, in ns, if a wake takes wake_ns. */
int64_t wf_spin_budget_worth(int64_t wake_ns);

/* Begins an idle time. Returns how long to poll, in ns; 0: do not poll. */
int64_t wf_spin_budget_begin(struct wf_spin_budget *b);

/*
 * Ends an idle time: work came after idle_ns. Polling pays for up to
 * worth_ns.
 */
void wf_spin_budget_end(struct wf_spin_budget *b, int64_t idle_ns,
			int64_t worth_ns);

/*
 * Called after a poll. was_disturbed: the kernel took the CPU from the VP
 * meanwhile, because another kernel thread was to run there.
 */
void wf_spin_budget_polled(struct wf_spin_budget *b, bool was_disturbed);

#endif
