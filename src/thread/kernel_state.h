/* SPDX-License-Identifier: MIT */
/*
 * State that the kernel keeps per kernel thread and that a thread of the
 * program changes for itself alone: namespaces, credentials, priorities. Such a
 * thread is bound from then on:
 *
 *     err = wf_kernel_state_begin(WF_BOUND_KERNEL_STATE);
 *     if (err == 0)
 *             wf_kernel_state_end(err = wf_sys(SYS_unshare, flags));
 *
 * No other thread runs on a kernel thread with changed state, not even after
 * its thread has ended. Kernel threads of the threads that it creates are
 * cloned from it.
 */
#ifndef WEFT_THREAD_KERNEL_STATE_H
#define WEFT_THREAD_KERNEL_STATE_H

#include "sched/thread.h"

/*
 * Binds the caller. The caller has in_runtime 0. Returns 0, or -EAGAIN if no
 * kernel thread can be made.
 */
int wf_kernel_state_begin(enum wf_bound_why why);
/*
 * Ends what begin began. rc is the result of the kernel's call: the state has
 * changed unless it is negative.
 */
void wf_kernel_state_end(long rc);
/*
 * As wf_kernel_state_end, after a call that gives the caller a descriptor table
 * of its own.
 */
void wf_kernel_state_files_end(long rc);

/*
 * As begin and end, for any thread of weft that has not ended. begin_for
 * reserves a carrier for another thread, and t soon moves to it.
 */
int wf_kernel_state_begin_for(struct wf_thread *t, enum wf_bound_why why);
void wf_kernel_state_end_for(const struct wf_thread *t, long rc);
/* As end_for, for a change that new kernel threads do not inherit. Threads that
 * t creates share carriers as usual. */
void wf_kernel_state_end_own_for(const struct wf_thread *t);

/*
 * note_own: called before the start, when the first thread has changed state
 * that new kernel threads do not inherit. adopt: called when the runtime
 * starts; binds t, the first thread, after such a change.
 */
void wf_kernel_state_note_own(void);
void wf_kernel_state_adopt(struct wf_thread *t);

/*
 * Called when the caller has set its parent-death signal: the signal that the
 * kernel sends it when its parent ends.
 */
void wf_kernel_state_note_death_signal(int sig);
/*
 * Stores the caller's parent-death signal. Returns false if only the kernel
 * knows it.
 */
bool wf_kernel_state_death_signal(int *ret_sig);

/*
 * Called when t, which is bound, ends. If it has such state, its kernel thread
 * exits.
 */
void wf_kernel_state_thread_end(const struct wf_thread *t);
/*
 * Called when the runtime stops. True if t, the first thread, may move to the
 * process's first kernel thread. False if the kernel keeps state for t's own
 * kernel thread, or will keep some.
 */
bool wf_kernel_state_may_leave(const struct wf_thread *t);
/*
 * Called when the runtime stops and t goes on as a native thread of its kernel
 * thread.
 */
void wf_kernel_state_stop(const struct wf_thread *t);
void wf_kernel_state_fork_child(void);

/*
 * Returns the kernel's id for a thread id that the program has passed to a
 * call, or for a thread of weft. A bound thread has the id of its kernel
 * thread. For any other thread it is the id of some shared carrier, since all
 * of these have the same state.
 */
int wf_kernel_state_tid(int tid);
int wf_kernel_state_tid_of(const struct wf_thread *t);
/*
 * Returns the program's id of a bound thread, from its kernel thread's id.
 * Returns any other id unchanged.
 */
int wf_kernel_state_id_of(int tid);

#endif
