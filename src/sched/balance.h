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

#endif
