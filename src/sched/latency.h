/* SPDX-License-Identifier: MIT */
/*
 * Measures the longest wait in a queue, without reading a clock at each switch.
 *
 *     wf_latency_update(&watch->latency_batch, first, end, vp_ns, &longest_ns);
 *
 * At each tick the caller puts a mark behind the queue's last entry. When the
 * first entry has passed a mark, all entries of that tick have left the queue.
 * So the result is exact to one tick. One caller at a time; nothing here
 * blocks.
 */
#ifndef WEFT_SCHED_LATENCY_H
#define WEFT_SCHED_LATENCY_H

#include <stdint.h>

/*
 * Number of marks, one per tick: a power of two, and more ticks than a thread
 * waits in practice.
 */
enum { WF_LATENCY_MARKS = 64 };

struct wf_latency {
	uint32_t first, nr; /* marks: circular, oldest first */
	struct {
		uint32_t position;
		int64_t time_ns;
	} marks[WF_LATENCY_MARKS];
};

/*
 * The queue holds the positions [first, end), which count up and wrap. `first`
 * never goes back behind a mark that it has passed. time_ns is a clock that
 * stands still while the queue's VP has no CPU. Raises *longest_ns to the
 * longest wait found, including waits that have not ended.
 */
void wf_latency_update(struct wf_latency *w, uint32_t first, uint32_t end,
		       int64_t time_ns, int64_t *longest_ns);

#endif
