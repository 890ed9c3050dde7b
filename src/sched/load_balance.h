/* SPDX-License-Identifier: MIT */
/*
 * Load balancing: the monitor moves threads between VPs that are all busy. An
 * idle VP needs no help: it takes threads itself (sched/queue.h).
 *
 *     wf_load_balance_vp(vp, is_fourth_tick);     at each tick, for each VP
 */
#ifndef WEFT_SCHED_LOAD_BALANCE_H
#define WEFT_SCHED_LOAD_BALANCE_H

#include <stdbool.h>

#include "sched/vp.h"

/*
 * For the monitor, at its tick: gives vp threads from the VP that has the most.
 */
void wf_load_balance_vp(struct wf_vp *vp, bool is_fourth_tick);

/*
 * For the monitor, at its tick: makes the interactive run queue of vp stealable
 * if it has not moved since the last tick. The next slot stays private to the
 * owner (SCHED_QUEUE-3 in sched/queue.c).
 */
void wf_load_balance_check_stuck(struct wf_vp *vp);

#endif
