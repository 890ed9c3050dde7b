/* SPDX-License-Identifier: MIT */
/*
 * State that the kernel keeps for each of its threads, and that a thread of
 * the program's changes for itself alone: namespaces, credentials, priorities
 * and the like. Such a thread keeps its kernel thread from then on:
 *
 *     err = wf_kernel_state_begin();
 *     if (err == 0)
 *             wf_kernel_state_end(err = wf_sys(SYS_unshare, flags));
 *
 * Nobody else runs on a kernel thread that was changed, also when the thread
 * has ended; threads that the thread creates are cloned from it.
 */
#ifndef WEFT_THREAD_KERNEL_STATE_H
#define WEFT_THREAD_KERNEL_STATE_H

#include "sched/thread.h"

/* in_runtime 0. 0, or -EAGAIN: no kernel thread can be made. */
int wf_kernel_state_begin(void);
/* rc is what the kernel said; less than 0: it has changed nothing. */
void wf_kernel_state_end(long rc);
/* The same where the change is a table of descriptors of the caller's own. */
void wf_kernel_state_files_end(long rc);

/*
 * The same for any thread of weft's that lives: another one gets a kernel
 * thread of its own for it, where it soon goes on.
 */
int wf_kernel_state_begin_for(struct wf_thread *t);
void wf_kernel_state_end_for(const struct wf_thread *t, long rc);
/* The same where threads that t creates do not have what was changed, as the
 * kernel does not give it to them: they share kernel threads as others do. */
void wf_kernel_state_end_own_for(const struct wf_thread *t);

/*
 * Before the start: the first thread has changed what new kernel threads do not
 * inherit. It is bound to its kernel thread when the runtime starts.
 */
void wf_kernel_state_note_own(void);
void wf_kernel_state_adopt(struct wf_thread *t);

/* The caller has set the signal that it gets at its parent's end. */
void wf_kernel_state_note_death_signal(int sig);
/* That signal of the caller; false: the kernel is to be asked. */
bool wf_kernel_state_death_signal(int *ret_sig);

/* t ends, which is bound: its kernel thread exits if that has such state. */
void wf_kernel_state_thread_end(const struct wf_thread *t);
/*
 * May t, the first thread, go on on the process's first kernel thread? Not if
 * the kernel keeps something for the one that it has, or will have.
 */
bool wf_kernel_state_may_leave(const struct wf_thread *t);
/* t goes on there without the runtime. */
void wf_kernel_state_stop(const struct wf_thread *t);
void wf_kernel_state_fork_child(void);

/*
 * The kernel's id for a thread id that a call was given, or for a thread of
 * weft's: of one with a kernel thread of its own, that one's; else of any that
 * is like all others.
 */
int wf_kernel_state_tid(int tid);
int wf_kernel_state_tid_of(const struct wf_thread *t);
/* The reverse, of one that has such a kernel thread; else that id itself. */
int wf_kernel_state_id_of(int tid);

#endif
