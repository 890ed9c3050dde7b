/* SPDX-License-Identifier: MIT */
/*
 * Names of carriers, as top -H, a debugger and the kernel's messages show them:
 * "weft-vp0" for the carrier that runs VP 0, "weft-spare" for one without work,
 * and the thread's name for the carrier of a bound thread.
 *
 * A carrier that blocks in a call keeps its name while its VP goes to another
 * carrier. The process's first kernel thread keeps its name at all times, since
 * that is the name of the process.
 *
 * All functions are for the carrier's own kernel thread and make a system call
 * only if the name changes.
 */
#ifndef WEFT_SCHED_CARRIER_NAME_H
#define WEFT_SCHED_CARRIER_NAME_H

#include "sched/vp.h"

/* struct wf_carrier.named: what its kernel thread is named after. */
enum wf_carrier_named {
	WF_NAMED_UNKNOWN = 0, /* as its creator */
	WF_NAMED_PROCESS,     /* for good: it is the process's first */
	WF_NAMED_SPARE,
	WF_NAMED_BOUND, /* after its bound thread */
	WF_NAMED_VP,	/* plus the VP's id */
};

/* c has just started on the kernel thread that calls. */
void wf_carrier_name_begin(struct wf_carrier *c);

void wf_carrier_name_slow(struct wf_carrier *c, uint32_t named,
			  const struct wf_thread *t);

static inline void wf_carrier_name_vp(struct wf_carrier *c,
				      const struct wf_vp *vp)
{
	if (WF_UNLIKELY(c->named != WF_NAMED_VP + vp->id))
		wf_carrier_name_slow(c, WF_NAMED_VP + vp->id, NULL);
}

static inline void wf_carrier_name_spare(struct wf_carrier *c)
{
	if (c->named != WF_NAMED_SPARE)
		wf_carrier_name_slow(c, WF_NAMED_SPARE, NULL);
}

/* t, which is bound to c, has begun there or has a new name. */
static inline void wf_carrier_name_bound(struct wf_carrier *c,
					 const struct wf_thread *t)
{
	wf_carrier_name_slow(c, WF_NAMED_BOUND, t);
}

#endif
