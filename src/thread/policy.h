/* SPDX-License-Identifier: MIT */
/*
 * Scheduling policies and priorities of threads. For a thread that shares
 * carriers, weft's scheduler applies the policy; for a bound thread, the kernel
 * does.
 *
 *     err = wf_policy_set(t, SCHED_FIFO, 10);
 */
#ifndef WEFT_THREAD_POLICY_H
#define WEFT_THREAD_POLICY_H

#include <time.h>

#include "sched/carrier.h"
#include "sched/thread.h"

/*
 * Returns t's policy as the kernel's calls do: with SCHED_RESET_ON_FORK if
 * threads and processes that t makes are not to be real-time.
 */
int wf_policy_of(const struct wf_thread *t);

/*
 * Checks whether the kernel would let a thread that t makes have this policy
 * and priority. The runtime has started. The caller has in_runtime 0. Returns
 * 0, -EINVAL or -EPERM.
 */
int wf_policy_check_made(const struct wf_thread *t, int policy, int priority);

/*
 * Called when the runtime starts and has made no kernel threads yet. If the
 * caller is real-time, makes all carriers real-time: threads of any priority
 * run on them. The carriers get SCHED_RR, to take turns with other processes,
 * and the priority below the caller's. So weft's services and child processes
 * with the caller's priority do not wait for a carrier that computes.
 */
void wf_policy_learn(void);

/*
 * Called when the runtime starts: gives t, the caller, the policy that the
 * kernel reports.
 */
void wf_policy_adopt(struct wf_thread *t);

/*
 * Checks policy and priority and sets them. Conditions and errors are those of
 * wf_policy_check_made.
 */
int wf_policy_set(struct wf_thread *t, int policy, int priority);

/* Gives `made` the policy and priority that a thread made by t inherits. */
void wf_policy_inherit(struct wf_thread *made, const struct wf_thread *t);

/*
 * Stores the round-robin interval that the kernel would report for t. Returns 0
 * or -Exxx. The caller has in_runtime 0.
 */
int wf_policy_interval(const struct wf_thread *t, struct timespec *ret_ts);

/*
 * begin: called when t, the caller, becomes bound; its kernel thread gets t's
 * policy. end: called when its carrier becomes a shared one again.
 */
void wf_policy_begin_bound(const struct wf_thread *t);
void wf_policy_end_bound(const struct wf_thread *t);

/*
 * Gives the calling kernel thread, that of c, the carriers' policy. The kernel
 * thread that cloned it may have another one: that of a service or of a bound
 * thread.
 */
void wf_policy_begin_carrier(const struct wf_carrier *c);

/*
 * Gives the kernel thread tid, a service, a priority above that of the
 * carriers: it has to run beside busy carriers.
 */
void wf_policy_above_carriers(int tid);

/* Called when the runtime stops and t, the first thread, goes on without it on
 * its present kernel thread. */
void wf_policy_stop(const struct wf_thread *t);

/*
 * begin: called when t, the caller, is about to execute a program. end: called
 * when that has failed.
 */
void wf_policy_exec_begin(const struct wf_thread *t);
void wf_policy_exec_end(const struct wf_thread *t);

/* Stores the policy and priority that a child process of t has natively.
 * Returns true if the child would get another one, from the kernel thread that
 * makes it. */
bool wf_policy_of_child(const struct wf_thread *t, int *ret_policy,
			int *ret_priority);

/* In a vfork child: gives it the policy that its parent thread has set. */
void wf_policy_vfork_child(const struct wf_thread *parent);

/*
 * In a fork child, which is native: gives the kernel thread t's policy. t is
 * the caller.
 */
void wf_policy_fork_child(struct wf_thread *t);

#endif
