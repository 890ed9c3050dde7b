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
	uint32_t round_end; /* position in the queue */
	uint32_t nr_rounds;
	bool first_was_kept; /* a draw moved another thread before it at the
			      * last call */
};

/*
 * The queue's owner calls this after it has put a preempted thread at the tail:
 * it varies which waiting thread is the first. nr_running, 1 or 0, counts the
 * thread that was taken out of the queue and runs now.
 */
void wf_runq_order_vary(struct wf_runq_order *order, struct wf_runq *queue,
			uint32_t nr_running);

#endif
