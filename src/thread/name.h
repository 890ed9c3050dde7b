/* SPDX-License-Identifier: MIT */
/*
 * Names of threads. weft keeps them; the process's first thread's is the
 * process's, too, and so with the kernel.
 */
#ifndef WEFT_THREAD_NAME_H
#define WEFT_THREAD_NAME_H

#include "sched/thread.h"

/* Does weft keep t's name? Otherwise the kernel does. t may be NULL. */
bool wf_name_is_kept(const struct wf_thread *t);

/* Cut off at 15 characters. in_runtime 0. */
void wf_name_set(struct wf_thread *t, const char *name);

/*
 * Attaches the calling kernel thread if weft has started and has not met it
 * yet. A caller that asks for its own name needs this: libc makes threads for
 * timers and look-ups, and one that a carrier makes has the carrier's name
 * until wf_name_met.
 */
void wf_name_meet_caller(void);

/*
 * Called once for each attached kernel thread that is not weft's, by itself. A
 * kernel thread that a carrier made has the carrier's name. This gives it the
 * process's name; natively it would have its creator's.
 */
void wf_name_met(void);

/* In a fork child, which is native: t, the caller, has its name there. */
void wf_name_fork_child(const struct wf_thread *t);

#endif
