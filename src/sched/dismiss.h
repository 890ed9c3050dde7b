/* SPDX-License-Identifier: MIT */
/*
 * Dismisses all carriers when the runtime stops. All kernel threads of carriers
 * end but the process's first, which then runs the last thread of the program:
 *
 *     if (wf_dismiss_carriers(t, wf_agent_rouse))
 *             wf_carrier_forget();    only the caller's is left
 */
#ifndef WEFT_SCHED_DISMISS_H
#define WEFT_SCHED_DISMISS_H

#include "os/sys.h"
#include "sched/carrier.h"

/*
 * t, the caller, is the process's first thread, and no other thread is left.
 * When this returns true, t is bound to the first kernel thread. Returns false
 * if a carrier still runs after some seconds. `rouse` wakes all carriers that
 * sleep with their VPs. Sleeps; called with in_runtime set.
 */
bool wf_dismiss_carriers(struct wf_thread *t, void (*rouse)(void));

/*
 * Ends c, the caller, which is dismissed and on its own stack, with all signals
 * blocked. Returns only on the first kernel thread, with a thread to run.
 */
void wf_dismiss_end(struct wf_carrier *c);

/* True if c's kernel thread is the process's first. */
static inline bool wf_dismiss_is_first(const struct wf_carrier *c)
{
	return wf_load_relaxed(&c->tid) == wf_os_getpid();
}

#endif
