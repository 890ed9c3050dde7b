/* SPDX-License-Identifier: MIT */
/*
 * CPU affinity of threads. If a thread's set differs from the process's set at
 * start, the thread is bound: its own carrier then has that affinity.
 *
 *     err = wf_affinity_set(t, sizeof(set), &set);
 *
 * Sizes are in bytes, as in the kernel's calls.
 */
#ifndef WEFT_THREAD_AFFINITY_H
#define WEFT_THREAD_AFFINITY_H

#include <sched.h>

#include "sched/thread.h"

/* Reads the set of the process. Call it before the first thread is made. */
void wf_affinity_init(void);
/*
 * Called when t, the caller, ends: gives its carrier the process's set again.
 */
void wf_affinity_end(struct wf_thread *t);

/*
 * Returns 0; -EINVAL if the set has no CPU that t may use; -EFAULT. Stores in
 * *ret_partial whether the set differs from the process's. The caller has
 * in_runtime 0.
 */
int wf_affinity_check(size_t size, const cpu_set_t *set, bool *ret_partial);

/*
 * set: gives t the CPUs of `set`. get: stores t's CPUs. Return 0, -EINVAL,
 * -EFAULT, or -EAGAIN if no kernel thread can be made.
 */
int wf_affinity_set(struct wf_thread *t, size_t size, const cpu_set_t *set);
int wf_affinity_get(struct wf_thread *t, size_t size, cpu_set_t *ret_set);

#endif
