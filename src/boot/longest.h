/*
 * How long threads that could run have waited at most, for --stats: at each
 * tick marks are put into the queues (sched/waits.h). The monitor's.
 */
#ifndef WEFT_BOOT_LONGEST_H
#define WEFT_BOOT_LONGEST_H

#include "sched/vp.h"

/* At each tick, when vp has been charged for it. */
void wf_longest_see(struct wf_vp *vp);
void wf_longest_see_injected(void);

/*
 * The monitor goes to sleep since nothing waits: what has waited since the
 * last tick has had its turn, which it would see only when it wakes.
 */
void wf_longest_nothing_waits(void);

#endif
