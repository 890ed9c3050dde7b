/* SPDX-License-Identifier: MIT */
/*
 * Measures the longest time for which a runnable thread has waited, for
 * --stats. At each tick the monitor marks the ends of the queues and compares
 * earlier marks (sched/latency.h). Only the monitor calls these functions.
 *
 *     wf_latency_stats_update_injected();
 *     for each vp:
 *             wf_latency_stats_update(vp);
 */
#ifndef WEFT_MONITOR_LATENCY_STATS_H
#define WEFT_MONITOR_LATENCY_STATS_H

#include "sched/vp.h"

/* Call at each tick, after the tick has charged vp for its CPU time. */
void wf_latency_stats_update(struct wf_vp *vp);
void wf_latency_stats_update_injected(void);

/*
 * Call when the monitor goes to sleep, since no thread waits then. All threads
 * that waited at the last tick have run. Without the reset the monitor would
 * count its own sleep as their waiting time.
 */
void wf_latency_stats_reset(void);

#endif
