/* SPDX-License-Identifier: MIT */
/* Scheduling policies and priorities. */
#ifndef WEFT_THREAD_POLICY_H
#define WEFT_THREAD_POLICY_H

#include <time.h>

#include "sched/carrier.h"
#include "sched/thread.h"

/*
 * A policy here is as the kernel's calls have it: with SCHED_RESET_ON_FORK, if
 * threads and processes that t makes are not to be real-time.
 */
int wf_policy_of(const struct wf_thread *t);

/*
 * Would the kernel let a thread that t makes have them? The runtime has
 * started, in_runtime 0. Returns 0, -EINVAL or -EPERM.
 */
int wf_policy_check_made(const struct wf_thread *t, int policy, int priority);

/*
 * When the runtime starts, before it makes kernel threads: if the caller is
 * real-time, all carriers become so. Threads of any priority run on them. So
 * they take turns with other processes of their priority (SCHED_RR), which is
 * the next lower one than the caller's: services, and children that have the
 * caller's priority, do not wait for a carrier that computes.
 */
void wf_policy_learn(void);

/* When the runtime starts: t, the caller, has what the kernel says. */
void wf_policy_adopt(struct wf_thread *t);

/* Checks and sets. The same. */
int wf_policy_set(struct wf_thread *t, int policy, int priority);

/* The policy and priority of what t makes. */
void wf_policy_inherit(struct wf_thread *made, const struct wf_thread *t);

/* What the kernel would say of t's turns. 0 or -Exxx. in_runtime 0. */
int wf_policy_interval(const struct wf_thread *t, struct timespec *ret_ts);

/* t, the caller, has got a kernel thread of its own, or gives it back. */
void wf_policy_begin_bound(const struct wf_thread *t);
void wf_policy_end_bound(const struct wf_thread *t);

/*
 * The calling kernel thread is c. The kernel thread that has cloned it may have
 * had another policy: a service, or a thread with a kernel thread of its own.
 */
void wf_policy_begin_carrier(const struct wf_carrier *c);

/* The kernel thread tid is a service: it has to run beside busy carriers. */
void wf_policy_above_carriers(int tid);

/* t, the first thread, goes on without the runtime on the kernel thread that
 * it is on. */
void wf_policy_stop(const struct wf_thread *t);

/* t, the caller, is about to execute a program; or that has failed. */
void wf_policy_exec_begin(const struct wf_thread *t);
void wf_policy_exec_end(const struct wf_thread *t);

/* What a child of t's has natively. True: the child would have another policy,
 * that of the kernel thread that makes it. */
bool wf_policy_of_child(const struct wf_thread *t, int *ret_policy,
			int *ret_priority);

/* In a vfork child: gives it the policy that its parent has set. */
void wf_policy_vfork_child(const struct wf_thread *parent);

/* In a fork child, which is native: t, the caller, has its policy there. */
void wf_policy_fork_child(struct wf_thread *t);

#endif
