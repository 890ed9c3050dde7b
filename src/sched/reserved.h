/* SPDX-License-Identifier: MIT */
/*
 * Reserved carriers. A caller may want to change what the kernel keeps for each
 * kernel thread, of a thread that shares its kernel thread with others. Then it
 * gets a carrier at once that will be that thread's own:
 *
 *     c = wf_reserved_make(t);
 *     if (c != NULL)
 *             wf_sys(SYS_setpriority, PRIO_PROCESS, c->tid, 5);
 *
 * The thread goes there when it next leaves the runtime or is preempted, and
 * is bound from then on. All with in_runtime set unless they say otherwise.
 */
#ifndef WEFT_SCHED_RESERVED_H
#define WEFT_SCHED_RESERVED_H

#include "sched/vp.h"

/* t's own carrier, or the one that is reserved for it by now; NULL: none can be
 * made. t has not ended and is not foreign. */
struct wf_carrier *wf_reserved_make(struct wf_thread *t);

/* The same, NULL if t has none. Anybody. */
struct wf_carrier *wf_reserved_find(const struct wf_thread *t);

/*
 * t, the caller, whose VP is its own, is to leave it for the carrier that it
 * is reserved for it: returns the post function of the switch to the carrier's
 * own context. NULL: none is reserved.
 */
wf_post_fn *wf_reserved_go_begin(struct wf_thread *t);

/* t, the caller, becomes bound where it is; false: another carrier is reserved
 * for it. */
bool wf_reserved_stay(struct wf_thread *t);

/* t, the caller, ends. */
void wf_reserved_end(struct wf_thread *t);

void wf_reserved_fork_child(void);

#endif
