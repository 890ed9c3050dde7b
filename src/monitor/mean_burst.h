/* SPDX-License-Identifier: MIT */
/*
 * Estimates the mean burst of a VP: for how long its threads run between two
 * switches. If the mean burst is long enough to pay for a wake, idle VPs are
 * woken for the VP's threads.
 *
 *     wf_mean_burst_update(vp, now_ns, used_ns);
 *     if (wf_load_relaxed(&vp->runs_long))
 *             ...	wake an idle VP for a runnable thread
 */
#ifndef WEFT_MONITOR_MEAN_BURST_H
#define WEFT_MONITOR_MEAN_BURST_H

#include "sched/vp.h"

/*
 * Call on the monitor's kernel thread at each tick. used_ns is the CPU time
 * that vp has used since the last tick, or -1 if it is not known.
 */
void wf_mean_burst_update(struct wf_vp *vp, int64_t now_ns, int64_t used_ns);

#endif
