/* SPDX-License-Identifier: MIT */
/*
 * Preemption requests: ask a running thread to yield, first by a flag that it
 * checks at its next call of weft, then by a signal. Only the monitor calls
 * these functions.
 *
 *     wf_preempt_request(vp, t, switches, WF_RESCHED_SLICE, now_ns);
 *     while (wf_preempt_request_retry(wf_os_now()))
 *             nap(WF_TICK_RETRY_NS);
 */
#ifndef WEFT_MONITOR_PREEMPT_REQUEST_H
#define WEFT_MONITOR_PREEMPT_REQUEST_H

#include "sched/vp.h"

/* Asks t to yield. t has run on vp since the VP's switch number `switches`. */
void wf_preempt_request(struct wf_vp *vp, struct wf_thread *t,
			uint64_t switches, enum wf_resched why, int64_t now_ns);

/*
 * Asks the threads again that have not yielded. True if there are any; then
 * call it again within WF_TICK_RETRY_NS.
 */
bool wf_preempt_request_retry(int64_t now_ns);

/* Returns the CPU time of c's kernel thread, in ns. */
int64_t wf_preempt_request_cpu_of(const struct wf_carrier *c);

/* True if c computes. It has used cpu_ns of CPU time in the last wall_ns. */
bool wf_preempt_request_is_computing(const struct wf_carrier *c, int64_t cpu_ns,
				     int64_t wall_ns);

#endif
