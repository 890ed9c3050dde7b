/* SPDX-License-Identifier: MIT */
/*
 * Reserves a carrier for a thread before the thread is bound to it. A caller
 * may want to change kernel state of a thread that shares its kernel thread
 * with other threads. The caller reserves a carrier for the thread and changes
 * the state of the carrier's kernel thread at once:
 *
 *     c = wf_reserved_make(t, WF_BOUND_KERNEL_STATE);
 *     if (c != NULL)
 *             wf_sys(SYS_setpriority, PRIO_PROCESS, c->tid, 5);
 *
 * The thread moves to the carrier when it next leaves the runtime or is
 * preempted, and is bound from then on. All functions need in_runtime set
 * unless they say otherwise.
 */
#ifndef WEFT_SCHED_RESERVED_H
#define WEFT_SCHED_RESERVED_H

#include "sched/vp.h"

/*
 * Returns t's own carrier, or reserves one for t. NULL if no carrier can be
 * made. t has not ended and is not foreign.
 */
struct wf_carrier *wf_reserved_make(struct wf_thread *t, enum wf_bound_why why);

/* Returns t's own or reserved carrier, or NULL. Any thread may call this. */
struct wf_carrier *wf_reserved_find(const struct wf_thread *t);

/*
 * Called when t, the caller, owns its VP and is about to leave it for its
 * reserved carrier. Returns the post function for the switch to its present
 * carrier's own context. Returns NULL if no carrier is reserved for t.
 */
wf_post_fn *wf_reserved_go_begin(struct wf_thread *t);

/*
 * Marks t, the caller, as bound to its present carrier. Returns false if
 * another carrier is reserved for t.
 */
bool wf_reserved_stay(struct wf_thread *t);

/* Called when t, the caller, ends: gives up the carrier reserved for t. */
void wf_reserved_end(struct wf_thread *t);

void wf_reserved_fork_child(void);

#endif
