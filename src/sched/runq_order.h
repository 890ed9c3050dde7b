/* SPDX-License-Identifier: MIT */
/*
 * The order in which preempted threads run again, in each of the run queues.
 *
 *     wf_runq_push_tail(&vp->batch, entry);
 *     wf_runq_order_vary(&vp->batch_order, &vp->batch, nr_running);
 */
#ifndef WEFT_SCHED_RUNQ_ORDER_H
#define WEFT_SCHED_RUNQ_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct wf_runq;

/* The state of one queue; all 0 at first. */
struct wf_runq_order {
	uint64_t drawn;	    /* the last number of the generator */
	uint32_t round_end; /* the position at which the round ends */
	uint32_t nr_rounds;
	/* the last call put another thread before the first one
	 * (RUNQ_ORDER-2) */
	bool first_was_kept;
};

/*
 * Varies which waiting thread is the first. The queue's owner calls this after
 * it has put a preempted thread at the tail. nr_running is 1 if the thread that
 * runs now was taken out of this queue, else 0.
 */
void wf_runq_order_vary(struct wf_runq_order *order, struct wf_runq *queue,
			uint32_t nr_running);

#endif
