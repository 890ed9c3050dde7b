/* SPDX-License-Identifier: MIT */
/* sched_yield: lets other runnable threads run first, of this VP or another. */
#ifndef WEFT_SCHED_YIELD_H
#define WEFT_SCHED_YIELD_H

#include <stdbool.h>

/*
 * Runs another thread. If the VP has no other thread to run, asks the kernel to
 * yield. The caller has in_runtime 0. Returns 0.
 */
int wf_sched_yield(void);

/*
 * For a thread that is about to block in the kernel. Runs an interactive thread
 * first, or a batch thread if the batch run queue is due. The caller runs again
 * in its turn. Returns false if there is no such thread. The caller has
 * in_runtime 0.
 */
bool wf_sched_let_others(void);

#endif
