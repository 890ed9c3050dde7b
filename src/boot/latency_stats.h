/* SPDX-License-Identifier: MIT */
/*
 * How long threads that could run have waited at most, for --stats: at each
 * tick marks are put into the queues (sched/latency.h). The monitor's.
 */
#ifndef WEFT_BOOT_LATENCY_STATS_H
#define WEFT_BOOT_LATENCY_STATS_H

#include "sched/vp.h"

/* At each tick, when vp has been charged for it. */
void wf_latency_stats_update(struct wf_vp *vp);
void wf_latency_stats_update_injected(void);

/*
 * The monitor goes to sleep since nothing waits: what has waited since the
 * last tick has run, which the monitor would find only when it wakes.
 */
void wf_latency_stats_reset(void);

#endif
