/*
 * Threads are told to give way.
 */
#ifndef WEFT_BOOT_STOP_H
#define WEFT_BOOT_STOP_H

#include "sched/vp.h"

/*
 * t, which vp has run since the switch with the given number, is to let another
 * thread run. The monitor.
 */
void wf_stop(struct wf_vp *vp, struct wf_thread *t, uint64_t switches,
	     enum wf_resched why, int64_t now_ns);

/* Asks again those who have not given way. True if there are any: soon again.
 */
bool wf_stop_retry(int64_t now_ns);

/* Of c's kernel thread. */
int64_t wf_stop_cpu_of(const struct wf_carrier *c);

/* Does c, which has used cpu_ns in the last wall_ns, compute? */
bool wf_stop_is_computing(const struct wf_carrier *c, int64_t cpu_ns,
			  int64_t wall_ns);

#endif
