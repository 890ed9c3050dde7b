/* SPDX-License-Identifier: MIT */
/*
 * How long the longest wait in a queue is, without a clock in the switch.
 *
 *     wf_latency_update(&watch->latency_batch, first, end, vp_ns, &longest_ns);
 *
 * At each tick a mark is put behind the queue's last entry; when the first
 * entry has passed a mark, all that were in the queue at that tick are out.
 * So the result is exact but for a tick. One caller at a time; nothing here
 * blocks.
 */
#ifndef WEFT_SCHED_LATENCY_H
#define WEFT_SCHED_LATENCY_H

#include <stdint.h>

/* A power of two: more ticks than anybody should wait. */
enum { WF_LATENCY_MARKS = 64 };

struct wf_latency {
	uint32_t first, nr; /* marks: circular, oldest first */
	struct {
		uint32_t position;
		int64_t time_ns;
	} marks[WF_LATENCY_MARKS];
};

/*
 * The queue holds the positions [first, end), which count up and wrap, and
 * first never goes back behind a mark that it has passed. time_ns is a clock
 * that stands still while the queue's VP has no CPU. *longest_ns grows to the
 * longest wait seen, of those still waiting too.
 */
void wf_latency_update(struct wf_latency *w, uint32_t first, uint32_t end,
		       int64_t time_ns, int64_t *longest_ns);

#endif
