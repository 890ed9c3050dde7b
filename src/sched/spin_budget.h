/* SPDX-License-Identifier: MIT */
/*
 * How long an idle VP polls before it sleeps in the kernel.
 *
 *     int64_t poll_ns = wf_spin_budget_begin(&vp->spin_budget);
 *     ...     polls for so long at most, then sleeps
 *     wf_spin_budget_end(&vp->spin_budget, idle_ns, worth_ns);
 *
 * Owner of the VP only; nothing here blocks.
 */
#ifndef WEFT_SCHED_SPIN_BUDGET_H
#define WEFT_SCHED_SPIN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct wf_spin_budget {
	int64_t poll_ns;    /* how long it would poll now */
	uint32_t nr_pauses; /* idle times to let pass after a disturbed one */
	uint32_t nr_left;   /* of these are still to come */
};

/* How long polling pays where a wake takes wake_ns. */
int64_t wf_spin_budget_worth(int64_t wake_ns);

/* An idle time begins. Returns how long to poll; 0 is not at all. */
int64_t wf_spin_budget_begin(struct wf_spin_budget *b);

/*
 * The idle time is over: work came after idle_ns, and waiting for it by
 * polling is worth worth_ns.
 */
void wf_spin_budget_end(struct wf_spin_budget *b, int64_t idle_ns,
			int64_t worth_ns);

/*
 * It polled. was_disturbed: the kernel took the CPU from it meanwhile, since
 * somebody else wanted to run there.
 */
void wf_spin_budget_polled(struct wf_spin_budget *b, bool was_disturbed);

#endif
