/* How often VPs switch, and how seldom the monitor has to look at them then. */
#ifndef WEFT_BOOT_PACE_H
#define WEFT_BOOT_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* In a tick: the runs between are shorter than a wake takes. */
	WF_PACE_LIVELY = 64,
};

struct wf_pace {
	/* Switches since the last tick. */
	uint64_t most;	  /* of any VP */
	uint64_t least;	  /* of any that is busy */
	uint32_t nr_calm; /* ticks in a row */
};

/* The monitor, at each tick. */
void wf_pace_see(struct wf_pace *pace);

/* Until the next tick, in ns; may_be_calm if the monitor knows of nothing that
 * it has to look for each tick. After wf_pace_see and wf_tick_all. */
int64_t wf_pace_next(struct wf_pace *pace, bool may_be_calm);

#endif
