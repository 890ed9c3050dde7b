/* Scheduling policies and priorities. */
#ifndef WEFT_THREAD_POLICY_H
#define WEFT_THREAD_POLICY_H

#include "sched/thread.h"

/*
 * Would the kernel let a thread have them? The runtime has started, in_runtime
 * 0. Returns 0, -EINVAL or -EPERM.
 */
int wf_policy_check(int policy, int priority);

/* When the runtime starts: t, the caller, has what the kernel says. */
void wf_policy_adopt(struct wf_thread *t);

/* Checks and sets. The same. */
int wf_policy_set(struct wf_thread *t, int policy, int priority);

/* t, the caller, has got a kernel thread of its own, or gives it back. */
void wf_policy_begin_bound(const struct wf_thread *t);
void wf_policy_end_bound(const struct wf_thread *t);

/* The caller is a kernel thread that has to run beside busy carriers. */
void wf_policy_above_carriers(void);

/* In a fork child, which is native: t, the caller, has its policy there. */
void wf_policy_fork_child(const struct wf_thread *t);

#endif
