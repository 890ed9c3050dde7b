/* SPDX-License-Identifier: MIT */
/*
 * Names of threads. weft keeps them; the process's first thread's is the
 * process's, too, and so with the kernel.
 */
#ifndef WEFT_THREAD_NAME_H
#define WEFT_THREAD_NAME_H

#include "sched/thread.h"

/* Does weft keep t's name? Else the kernel does. NULL is nobody. */
bool wf_name_is_kept(const struct wf_thread *t);

/* Cut off at 15 characters. in_runtime 0. */
void wf_name_set(struct wf_thread *t, const char *name);

/*
 * The calling kernel thread is not weft's. If a carrier has made it, it has the
 * carrier's name: it gets the process's, as natively from its creator.
 */
void wf_name_met(void);

/* In a fork child, which is native: t, the caller, has its name there. */
void wf_name_fork_child(const struct wf_thread *t);

#endif
