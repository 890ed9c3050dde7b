/* SPDX-License-Identifier: MIT */
/* For how long the threads of a VP run, and what is worth while then. */
#ifndef WEFT_BOOT_MEAN_BURST_H
#define WEFT_BOOT_MEAN_BURST_H

#include "sched/vp.h"

/*
 * On the monitor's kernel thread, at each tick. used_ns: the CPU time that vp
 * has used since the last one, -1 if that is not known.
 */
void wf_mean_burst_update(struct wf_vp *vp, int64_t now_ns, int64_t used_ns);

#endif
