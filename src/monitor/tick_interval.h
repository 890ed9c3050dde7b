/* SPDX-License-Identifier: MIT */
/*
 * Chooses the time to the next tick by how often VPs switch.
 *
 *     wf_tick_interval_update(&interval);
 *     wf_tick_all(now);
 *     next = now + wf_tick_interval_next(&interval, may_be_calm);
 */
#ifndef WEFT_MONITOR_TICK_INTERVAL_H
#define WEFT_MONITOR_TICK_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Number of switches in a tick from which on a VP counts as switching
	 * often. With 64, the mean time between two is shorter than a wake
	 * takes. */
	WF_TICK_LIVELY = 64,
};

struct wf_tick_interval {
	/* Numbers of switches since the last tick. */
	uint64_t most;	  /* the highest of any VP */
	uint64_t least;	  /* the lowest of any busy VP */
	uint32_t nr_calm; /* ticks in a row in which busy VPs only switched */
};

/*
 * Counts the switches since the last tick. The monitor calls it at each tick.
 */
void wf_tick_interval_update(struct wf_tick_interval *interval);

/*
 * Returns the time to the next tick, in ns. may_be_calm: the monitor has
 * nothing to check in the next 10 ms. Call after wf_tick_interval_update and
 * wf_tick_all.
 */
int64_t wf_tick_interval_next(struct wf_tick_interval *interval,
			      bool may_be_calm);

#endif
