/* SPDX-License-Identifier: MIT */
/* Making a claimed thread ready to run for the first time. */
#ifndef WEFT_SCHED_START_H
#define WEFT_SCHED_START_H

#include "sched/table.h"
#include "sched/thread.h"

/*
 * Gives the claimed thread a TCB as new and a first context, on a stack of the
 * pool's if that is better; the pool is that of the VP which it will run on,
 * NULL if none. No locks, no calls into libc; touches the thread's memory for
 * the first time.
 */
void wf_start_prepare(struct wf_thread *t, struct wf_pool *pool);

#endif
