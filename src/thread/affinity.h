/* SPDX-License-Identifier: MIT */
/*
 * CPU affinity of threads. A set that is not the one that the process had when
 * the runtime started binds the thread: it then owns a carrier, which has that
 * affinity.
 */
#ifndef WEFT_THREAD_AFFINITY_H
#define WEFT_THREAD_AFFINITY_H

#include <sched.h>

#include "sched/thread.h"

/* Before the first thread; reads what the process may use. */
void wf_affinity_init(void);
/* The thread ends: its carrier is anybody's again. On that carrier. */
void wf_affinity_end(struct wf_thread *t);

/* 0, or -EINVAL: no such CPU. Is the set another than the process's? Not in the
 * runtime. */
int wf_affinity_check(size_t size, const cpu_set_t *set, bool *ret_partial);

/* size in bytes, as in the kernel's calls. 0, -EINVAL, -EAGAIN. */
int wf_affinity_set(struct wf_thread *t, size_t size, const cpu_set_t *set);
int wf_affinity_get(struct wf_thread *t, size_t size, cpu_set_t *ret_set);

#endif
