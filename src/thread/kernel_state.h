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
 * Binds the caller. in_runtime 0. Returns 0, or -EAGAIN if no kernel thread can
 * be made.
 */
int wf_kernel_state_begin(enum wf_bound_why why);
/* rc is the result of the kernel's call. A negative rc changes nothing. */
void wf_kernel_state_end(long rc);
/* The same after a call that gives the caller a descriptor table of its own. */
void wf_kernel_state_files_end(long rc);

/*
 * The same for any thread of weft that has not ended. begin_for reserves a
 * carrier for another thread, and t soon moves to it.
 */
int wf_kernel_state_begin_for(struct wf_thread *t, enum wf_bound_why why);
void wf_kernel_state_end_for(const struct wf_thread *t, long rc);
/* The same for a change that new kernel threads do not inherit. Threads that t
 * creates share carriers as usual. */
void wf_kernel_state_end_own_for(const struct wf_thread *t);

/*
 * note_own: before the start, the first thread has changed state that new
 * kernel threads do not inherit. adopt: the runtime starts, and binds t, the
 * first thread, after such a change.
 */
void wf_kernel_state_note_own(void);
void wf_kernel_state_adopt(struct wf_thread *t);

/* The caller has set the signal that it gets when its parent ends. */
void wf_kernel_state_note_death_signal(int sig);
/* Stores that signal of the caller. False: only the kernel knows it. */
bool wf_kernel_state_death_signal(int *ret_sig);

/* t, which is bound, ends. Its kernel thread exits if it has such state. */
void wf_kernel_state_thread_end(const struct wf_thread *t);
/*
 * True if t, the first thread, may leave for the process's first kernel thread
 * when the runtime winds down. False if the kernel keeps state for t's own
 * kernel thread, or will keep some.
 */
bool wf_kernel_state_may_leave(const struct wf_thread *t);
/* The runtime winds down, and t continues there as a native thread. */
void wf_kernel_state_stop(const struct wf_thread *t);
void wf_kernel_state_fork_child(void);

/*
 * The kernel's id for a thread id that a call was given, or for a thread of
 * weft. A bound thread has the id of its kernel thread. For any other thread it
 * is the id of some shared carrier, since all of these have the same state.
 */
int wf_kernel_state_tid(int tid);
int wf_kernel_state_tid_of(const struct wf_thread *t);
/*
 * The reverse, for the id of a bound thread's kernel thread. Returns any other
 * id unchanged.
 */
int wf_kernel_state_id_of(int tid);

#endif
