/* SPDX-License-Identifier: MIT */
/* sched_yield: other runnable threads first, of this VP or another. */
#ifndef WEFT_SCHED_YIELD_H
#define WEFT_SCHED_YIELD_H

#include <stdbool.h>

/* in_runtime 0. If no thread of the VP can run, asks the kernel. Returns 0. */
int wf_sched_yield(void);

/*
 * For a thread that would block next: one that waits a lot runs first, if one
 * is runnable, and the caller again in its turn. False: there is none. Not to
 * threads that compute, whose turn is long. in_runtime 0.
 */
bool wf_sched_let_others(void);

#endif
