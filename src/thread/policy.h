/* Scheduling policies and priorities, as far as errors and answers go. */
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

#endif
