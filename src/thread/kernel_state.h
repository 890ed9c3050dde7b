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
