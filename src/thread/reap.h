/* SPDX-License-Identifier: MIT */
/*
 * Gives back the memory of slots that no thread needs: stacks to the kernel,
 * the caches of libc's malloc to libc.
 *
 *     wf_reap_consider();        a thread has ended or was joined
 */
#ifndef WEFT_THREAD_REAP_H
#define WEFT_THREAD_REAP_H

#include "sched/table.h"

void wf_reap_consider_slow(void);
/*
 * Starts a reaper if many slots are unused. Call it where threads end and are
 * joined, with in_runtime 0. It does nothing until a VP has more free slots
 * than it keeps for itself.
 */
static inline void wf_reap_consider(void)
{
	if (WF_UNLIKELY(wf_load_relaxed(&wf_table_has_spare)))
		wf_reap_consider_slow();
}

/*
 * Ends the reaper, and returns when it has ended. The caller is the only other
 * thread. Yields. The caller has in_runtime 0.
 */
void wf_reap_end(void);
/* In a fork child, which has no reaper. */
void wf_reap_fork_child(void);

#endif
