/* SPDX-License-Identifier: MIT */
/*
 * Names of threads. weft keeps the names of its threads. The name of the
 * process's first thread is also the process's name in the kernel.
 *
 *     if (wf_name_is_kept(t))
 *             wf_name_set(t, "worker");
 */
#ifndef WEFT_THREAD_NAME_H
#define WEFT_THREAD_NAME_H

#include "sched/thread.h"

/*
 * True if weft keeps t's name itself. Of other threads the kernel keeps the
 * name. t may be NULL.
 */
bool wf_name_is_kept(const struct wf_thread *t);

/* Sets t's name, cut off at 15 bytes. The caller has in_runtime 0. */
void wf_name_set(struct wf_thread *t, const char *name);

/*
 * Attaches the calling kernel thread, if weft has started and does not know it
 * yet. Called before a thread reads or sets its own name. libc makes threads
 * for timers and look-ups, which have the name of the carrier that made them
 * until wf_name_met.
 */
void wf_name_meet_caller(void);

/*
 * Called once by each foreign thread when it is attached. If a carrier made its
 * kernel thread, it has the carrier's name. This gives it the process's name
 * instead. Natively it would have its creator's.
 */
void wf_name_met(void);

/* In a fork child, which is native: gives the kernel thread t's name. */
void wf_name_fork_child(const struct wf_thread *t);

#endif
