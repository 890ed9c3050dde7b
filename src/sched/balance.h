/*
 * Work moves between VPs that are all busy. An idle VP takes by itself
 * (sched/queue.h).
 */
#ifndef WEFT_SCHED_BALANCE_H
#define WEFT_SCHED_BALANCE_H

#include <stdbool.h>

#include "sched/vp.h"

/* The monitor, at its tick, gives vp what others have too much of. */
void wf_balance_vp(struct wf_vp *vp, bool is_fourth_tick);

/*
 * The monitor, at its tick: a ring of vp's that has not moved since the last
 * one is offered to all. What is in the LIFO slot is its owner's (SCHED_QUEUE-3
 * in sched/queue.c).
 */
void wf_balance_see_stuck(struct wf_vp *vp);

#endif
