/* SPDX-License-Identifier: MIT */
/*
 * Takes VPs offline: from the first real-time thread on, no more VPs run
 * threads than the process has CPUs.
 *
 *     wf_offline_begin();
 *     ...
 *     if (wf_vp_is_offline(vp)) {
 *             wf_offline_give(vp);
 *             return NULL;
 *     }
 *
 * A thread of SCHED_FIFO keeps all threads of lower priorities from running.
 * With more VPs than CPUs the kernel would divide a CPU between the VPs of a
 * high and of a low priority. An offline VP still fires its timers and takes
 * its completions; the threads that become runnable go to other VPs. VPs stay
 * offline until the runtime starts anew, in a fork child for example.
 *
 * All functions need in_runtime set, or a kernel thread of weft's own.
 */
#ifndef WEFT_SCHED_OFFLINE_H
#define WEFT_SCHED_OFFLINE_H

#include "sched/vp.h"

/* The first call takes the VPs above the number of CPUs offline. */
void wf_offline_begin_slow(void);

static inline void wf_offline_begin(void)
{
	if (WF_UNLIKELY(!wf_load_relaxed(&wf_sched.has_realtime)))
		wf_offline_begin_slow();
}

/* For the owner of an offline VP: gives all the VP's threads to other VPs. */
void wf_offline_give(struct wf_vp *vp);

/* True if a thread still runs on an offline VP. The monitor preempts it. */
bool wf_offline_is_pending(void);

#endif
