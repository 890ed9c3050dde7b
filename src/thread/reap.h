/* SPDX-License-Identifier: MIT */
/*
 * Slots that nobody needs any more give their memory back: stacks to the
 * kernel, the caches of libc's malloc to libc.
 */
#ifndef WEFT_THREAD_REAP_H
#define WEFT_THREAD_REAP_H

#include "sched/table.h"

void wf_reap_consider_slow(void);
/*
 * Where threads end and are joined: are there many slots to spare? in_runtime
 * 0. They are if a VP had more than it keeps for itself.
 */
static inline void wf_reap_consider(void)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_table_has_spare)))
		wf_reap_consider_slow();
}

/* The caller is the only other thread: there is no reaper when this returns.
 * Yields. in_runtime 0. */
void wf_reap_end(void);
/* In a fork child, where the reaper does not live on. */
void wf_reap_fork_child(void);

#endif
