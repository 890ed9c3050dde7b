/* SPDX-License-Identifier: MIT */
/*
 * The life of a thread: create, run, exit, join, detach.
 *
 *     err = wf_thread_create(&params, start, arg, &handle);
 *     if (err == 0)
 *             err = wf_thread_join(me, wf_thread_of(handle), &result,
 *                                  deadline);
 */
#ifndef WEFT_THREAD_LIFECYCLE_H
#define WEFT_THREAD_LIFECYCLE_H

#include <pthread.h>
#include <sched.h>

#include "sched/thread.h"

/*
 * The attributes of a new thread, from the pthread_attr_t and weft's options.
 */
struct wf_thread_params {
	/* class of its slot; NULL: creation fails with -EAGAIN */
	struct wf_slot_class *class;
	/* the program's stack, its lowest byte; NULL: weft's */
	void *user_stack;
	size_t user_stack_bytes;
	bool is_detached;
	bool is_bound;
	bool has_policy;  /* false: policy and priority are the creator's */
	bool has_sigmask; /* false: the mask is the creator's */
	int8_t policy;
	int8_t priority;
	bool has_affinity;    /* then is_bound is set, too */
	uint16_t stack_slack; /* from wf_slot_slack; 0 for a user_stack */
	uint64_t sigmask;
	cpu_set_t affinity;
};

/*
 * Creates a thread that will run start(arg). Stores its pthread_t in
 * *ret_handle before the thread can run. Needs a started runtime; the caller
 * has in_runtime 0. Returns 0 or -EAGAIN.
 */
int wf_thread_create(const struct wf_thread_params *params,
		     void *(*start)(void *), void *arg, pthread_t *ret_handle);

/*
 * Returns the thread with this pthread_t; NULL for 0 and for a thread unknown
 * to weft.
 */
struct wf_thread *wf_thread_of(pthread_t handle);
/*
 * Returns the thread of weft with this id, as system calls name threads; 0 is
 * the caller. Returns NULL if there is no such thread, or if it has exited.
 */
struct wf_thread *wf_thread_of_id(int32_t id);

/*
 * Waits until t is off its stack, takes its result and frees t. Returns 0,
 * -EDEADLK, -EINVAL, -ESRCH (already joined) or -ETIMEDOUT (also if the
 * deadline is in the past).
 */
int wf_thread_join(struct wf_thread *me, struct wf_thread *t, void **ret_result,
		   int64_t deadline_ns);
/* As wf_thread_join, but does not wait: returns -EBUSY if t has not ended. */
int wf_thread_tryjoin(struct wf_thread *t, void **ret_result);
/*
 * Detaches t. Returns 0, -EINVAL (already detached) or -ESRCH (already joined).
 */
int wf_thread_detach(struct wf_thread *t);

/* The first function of a new thread, on its stack. in_runtime is set. */
WF_NORETURN void wf_thread_main(void);

/*
 * Ends t, the caller, after its start routine: runs destructors, frees TLS, and
 * switches away. Ends the process if t is the last thread. The caller has
 * in_runtime 0.
 */
WF_NORETURN void wf_thread_finish(struct wf_thread *t);
/*
 * As wf_thread_finish, for a thread that ends by a system call: no destructor
 * runs. If t is the last thread, `status` becomes the exit status of the
 * process.
 */
WF_NORETURN void wf_thread_leave(struct wf_thread *t, int status);

#endif
