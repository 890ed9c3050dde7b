/* SPDX-License-Identifier: MIT */
/*
 * Preemption requests: asks a running thread to yield, first by a flag that it
 * sees at its next call, then by a signal.
 */
#ifndef WEFT_BOOT_PREEMPT_REQUEST_H
#define WEFT_BOOT_PREEMPT_REQUEST_H

#include "sched/vp.h"

/*
 * t, which vp has run since the switch with the given number, is to let another
 * thread run. The monitor.
 */
void wf_preempt_request(struct wf_vp *vp, struct wf_thread *t,
			uint64_t switches, enum wf_resched why, int64_t now_ns);

/* Asks again the threads that have not yielded. True if there are any: call it
 * again soon. */
bool wf_preempt_request_retry(int64_t now_ns);

/* Of c's kernel thread. */
int64_t wf_preempt_request_cpu_of(const struct wf_carrier *c);

/* Does c, which has used cpu_ns in the last wall_ns, compute? */
bool wf_preempt_request_is_computing(const struct wf_carrier *c, int64_t cpu_ns,
				     int64_t wall_ns);

#endif
