/* SPDX-License-Identifier: MIT */
/*
 * Makes a claimed thread ready to run for the first time.
 *
 *     t = wf_entry_take(entry, &is_fresh);
 *     if (t != NULL && is_fresh)
 *             wf_start_prepare(t, &vp->pool);
 */
#ifndef WEFT_SCHED_START_H
#define WEFT_SCHED_START_H

#include "sched/table.h"
#include "sched/thread.h"

/*
 * Renews the claimed thread's TCB and makes its first context. May exchange its
 * stack for one of the pool that is in the cache. `pool` is that of the VP on
 * which the thread will run, or NULL. Takes no locks and makes no calls into
 * libc. Touches the thread's memory for the first time.
 */
void wf_start_prepare(struct wf_thread *t, struct wf_pool *pool);

#endif
