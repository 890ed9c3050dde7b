/* SPDX-License-Identifier: MIT */
/*
 * Each tick puts a mark behind the last entry of the queue. The marks are in a
 * circular array, oldest first. A tick first removes the marks that the queue's
 * head has passed: the entries before them have left. If all places for marks
 * are in use, a tick adds none: the wait of the oldest mark is longer than that
 * of any later one.
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
	/* The entries before this mark have left by now: they waited until this
	 * tick at the latest. */
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
