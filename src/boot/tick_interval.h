/* SPDX-License-Identifier: MIT */
/* The interval between ticks, by how often VPs switch. */
#ifndef WEFT_BOOT_TICK_INTERVAL_H
#define WEFT_BOOT_TICK_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* In a tick: the runs between are shorter than a wake takes. */
	WF_TICK_LIVELY = 64,
};

struct wf_tick_interval {
	/* Switches since the last tick. */
	uint64_t most;	  /* of any VP */
	uint64_t least;	  /* of any that is busy */
	uint32_t nr_calm; /* ticks in a row */
};

/* The monitor, at each tick. */
void wf_tick_interval_update(struct wf_tick_interval *interval);

/* Until the next tick, in ns; may_be_calm if the monitor knows of nothing that
 * it has to look for each tick. After wf_tick_interval_update and wf_tick_all.
 * */
int64_t wf_tick_interval_next(struct wf_tick_interval *interval,
			      bool may_be_calm);

#endif
