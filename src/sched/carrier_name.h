/* SPDX-License-Identifier: MIT */
/*
 * Names of carriers, as top -H, a debugger and the kernel's messages show them.
 * "weft-vp0" is the carrier that runs VP 0, "weft-spare" one without work. The
 * carrier of a bound thread has the thread's name.
 *
 *     wf_carrier_name_vp(c, vp);     c is about to run threads of vp
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

/* struct wf_carrier.named: from where its kernel thread has its name. */
enum wf_carrier_named {
	WF_NAMED_UNKNOWN = 0, /* the name of the thread that made it */
	WF_NAMED_PROCESS,     /* the process's first kernel thread, always */
	WF_NAMED_SPARE,
	WF_NAMED_BOUND, /* the name of its bound thread */
	WF_NAMED_VP,	/* "weft-vp" and the VP's number */
};

/* Called when c has just started on the calling kernel thread. */
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

/* Called when t, which is bound to c, starts there or has a new name. */
static inline void wf_carrier_name_bound(struct wf_carrier *c,
					 const struct wf_thread *t)
{
	wf_carrier_name_slow(c, WF_NAMED_BOUND, t);
}

#endif
