/* SPDX-License-Identifier: MIT */
/*
 * The signal layer as the rest of the runtime sees it.
 */
#ifndef WEFT_SIGNAL_SIGNAL_H
#define WEFT_SIGNAL_SIGNAL_H

#include <signal.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * First thing when the runtime starts, before the carrier of the first thread
 * takes the kernel's alternate stack: t's own is remembered.
 */
void wf_signal_save_altstack(struct wf_thread *t);

/*
 * What can fail when the runtime starts. All signals are blocked. 0 or -Exxx.
 */
int wf_signal_start(void);
/* In its place where the runtime never starts: waits of threads of libc's. */
void wf_signal_stay_native(void);
/*
 * Signals are weft's from here on: dispositions, and those to the process.
 * `mask` is what the calling thread will block.
 */
void wf_signal_convert(uint64_t mask);
/* The first thread's pending signals leave its kernel thread, which others
 * will run on. */
void wf_signal_adopt_pending(struct wf_thread *t);

/* Around fork: everything is blocked while there are two of us. */
void wf_signal_fork_prepare(void);
void wf_signal_fork_parent(void);
/* Everything is the kernel's and the program's again. A vfork child has set its
 * own actions. */
/*
 * The runtime stops, and there is no receiver any more: what is pending for the
 * process and for t, the caller, is the kernel's, and so are the actions. All
 * signals are blocked, in_runtime is set.
 */
void wf_signal_stop(struct wf_thread *t);
void wf_signal_fork_child(struct wf_thread *t, bool has_own_actions);
/* The same for mask and alternate stack of the kernel thread. */
void wf_signal_restore(const struct wf_thread *t);

/*
 * Before exec, the last thing: what is pending for the caller, t, and the
 * process becomes the kernel's to keep for the new program (t->given). Needs no
 * VP. in_runtime 0. After an exec that failed it is weft's again; everything is
 * blocked. When the mask is open, the last is for those that are due.
 */
void wf_signal_exec_begin(struct wf_thread *t);
void wf_signal_exec_failed(struct wf_thread *t);
void wf_signal_exec_over(struct wf_thread *t);

/* The fields of a thread that is being created. */
void wf_signal_thread_init(struct wf_thread *t);
/* Its TLS is whole: handlers may run. in_runtime 0, the thread itself. */
void wf_signal_thread_begin(struct wf_thread *t);
/*
 * No handler of t's from here on; what it was sent for the process goes to
 * others. me, the caller, is in the runtime.
 */
void wf_signal_thread_end(struct wf_thread *me, struct wf_thread *t);

#endif
