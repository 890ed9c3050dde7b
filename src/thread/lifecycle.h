/* SPDX-License-Identifier: MIT */
/*
 * A thread's life: create, run, exit, join, detach.
 */
#ifndef WEFT_THREAD_LIFECYCLE_H
#define WEFT_THREAD_LIFECYCLE_H

#include <pthread.h>
#include <sched.h>

#include "sched/thread.h"

/* What pthread_create's attributes come down to. */
struct wf_thread_params {
	struct wf_slot_class *class; /* NULL: there is none, -EAGAIN */
	void *user_stack;	     /* lowest byte, or NULL */
	size_t user_stack_bytes;
	bool is_detached;
	bool is_bound;
	bool has_policy;  /* and priority; else the creator's */
	bool has_sigmask; /* else the creator's */
	int8_t policy;
	int8_t priority;
	bool has_affinity;    /* then is_bound, too */
	uint16_t stack_slack; /* wf_slot_slack; 0 for a user_stack */
	uint64_t sigmask;
	cpu_set_t affinity;
};

/*
 * Creates a thread that will run start(arg). *ret_handle is its pthread_t,
 * written before it can run. Needs a started runtime; in_runtime 0. Returns
 * 0 or -EAGAIN.
 */
int wf_thread_create(const struct wf_thread_params *params,
		     void *(*start)(void *), void *arg, pthread_t *ret_handle);

/* The thread behind a pthread_t; NULL for 0 and one that weft never met. */
struct wf_thread *wf_thread_of(pthread_t handle);
/*
 * The thread of weft's, not yet exited, that an id means to a system call, 0
 * the caller; NULL if there is none.
 */
struct wf_thread *wf_thread_of_id(int32_t id);

/*
 * Waits until t is off its stack, takes its result and frees it. Returns 0,
 * -EDEADLK, -EINVAL, -ETIMEDOUT (also for a deadline in the past).
 */
int wf_thread_join(struct wf_thread *t, void **ret_result, int64_t deadline_ns);
/* -EBUSY instead of waiting. */
int wf_thread_tryjoin(struct wf_thread *t, void **ret_result);
/* 0 or -EINVAL. */
int wf_thread_detach(struct wf_thread *t);

/*
 * Everything that has to happen in the context of a thread whose start
 * routine is over; switches away for good, or ends the process if the thread
 * is the last one. in_runtime 0.
 */
WF_NORETURN void wf_thread_finish(struct wf_thread *t);
/*
 * The same for one that ends by a system call: nothing is destroyed. The status
 * is the process's if the thread is the last one.
 */
WF_NORETURN void wf_thread_leave(struct wf_thread *t, int status);

#endif
