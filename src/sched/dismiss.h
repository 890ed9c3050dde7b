/* SPDX-License-Identifier: MIT */
/*
 * All carriers end but the process's first kernel thread, which the only thread
 * of the program's goes on on:
 *
 *     if (wf_dismiss_carriers(t, wf_agent_rouse))
 *             wf_carrier_forget();    no kernel thread but the caller's
 */
#ifndef WEFT_SCHED_DISMISS_H
#define WEFT_SCHED_DISMISS_H

#include "os/sys.h"
#include "sched/carrier.h"

/*
 * t, the caller, is the process's first thread, and no other lives. It is bound
 * to the first kernel thread when this returns. False: some carrier still runs,
 * after seconds. `rouse` wakes all carriers that sleep with their VPs. Sleeps.
 * in_runtime set.
 */
bool wf_dismiss_carriers(struct wf_thread *t, void (*rouse)(void));

/* c, the caller, is dismissed, on its own stack and with all signals blocked.
 * The first kernel thread gets a thread to run, any other ends. */
void wf_dismiss_end(struct wf_carrier *c);

/* Is c's kernel thread the process's first? */
static inline bool wf_dismiss_is_first(const struct wf_carrier *c)
{
	return wf_load_relaxed(&c->tid) == wf_os_getpid();
}

#endif
