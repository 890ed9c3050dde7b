/* SPDX-License-Identifier: MIT */
/*
 * Work moves between VPs that are all busy. An idle VP takes by itself
 * (sched/queue.h).
 */
#ifndef WEFT_SCHED_LOAD_BALANCE_H
#define WEFT_SCHED_LOAD_BALANCE_H

#include <stdbool.h>

#include "sched/vp.h"

/* The monitor, at its tick, gives vp what others have too much of. */
void wf_load_balance_vp(struct wf_vp *vp, bool is_fourth_tick);

/*
 * The monitor, at its tick: makes the interactive run queue of vp stealable if
 * it has not moved since the last tick. The next slot is its owner's
 * (SCHED_QUEUE-3 in sched/queue.c).
 */
void wf_load_balance_check_stuck(struct wf_vp *vp);

#endif
