/* SPDX-License-Identifier: MIT */
/*
 * The marks of a queue are in a circular array, oldest first. Each tick removes
 * the marks that the queue's head has passed, and adds one at the queue's end.
 * If all marks are in use, it adds none: the oldest mark's wait is longer than
 * that of any later one.
 */
#include "sched/latency.h"

enum { MASK = WF_LATENCY_MARKS - 1 };

static void update_longest(int64_t wait_ns, int64_t *longest_ns)
{
	if (wait_ns > *longest_ns)
		*longest_ns = wait_ns;
}

void wf_latency_update(struct wf_latency *w, uint32_t first, uint32_t end,
		       int64_t time_ns, int64_t *longest_ns)
{
	/* The entries that have left waited until this tick at the latest. */
	for (; w->nr > 0; w->nr--, w->first++) {
		uint32_t oldest = w->first & MASK;

		update_longest(time_ns - w->marks[oldest].time_ns, longest_ns);
		if ((int32_t)(first - w->marks[oldest].position) < 0)
			break;
	}
	if ((int32_t)(end - first) > 0 && w->nr < WF_LATENCY_MARKS) {
		uint32_t next = (w->first + w->nr++) & MASK;

		w->marks[next].position = end;
		w->marks[next].time_ns = time_ns;
	}
}
