/* SPDX-License-Identifier: MIT */
/*
 * The signal layer's interface for the rest of the runtime: start, stop, fork,
 * exec, and the beginning and end of threads.
 *
 *     wf_signal_fork_prepare();
 *     pid = fork();	the child calls wf_signal_fork_child
 *     wf_signal_fork_parent();
 */
#ifndef WEFT_SIGNAL_SIGNAL_H
#define WEFT_SIGNAL_SIGNAL_H

#include <signal.h>
#include <stdint.h>

#include "sched/thread.h"

/*
 * Saves t's alternate stack. Call it first when the runtime starts, before the
 * first thread's carrier replaces the kernel's alternate stack.
 */
void wf_signal_save_altstack(struct wf_thread *t);

/*
 * Does the part of the start that can fail. All signals are blocked. Returns 0
 * or -errno.
 */
int wf_signal_start(void);
/*
 * From this call on weft has the program's actions and takes the signals to the
 * process. `mask` is the mask that the calling thread will have.
 */
void wf_signal_convert(uint64_t mask);
/*
 * Takes the first thread's pending signals from its kernel thread, on which
 * other threads will run.
 */
void wf_signal_adopt_pending(struct wf_thread *t);

/*
 * True if a wait that t, the caller, is about to begin has to end at once.
 * Called under the bucket's lock.
 */
bool wf_signal_interrupts_wait(struct wf_thread *t);
/* Handles the signals in the slot of c. No thread runs on c. */
void wf_signal_drain_idle(struct wf_carrier *c);

/*
 * Called before and after fork. In between, all signals but weft's are blocked.
 */
void wf_signal_fork_prepare(void);
void wf_signal_fork_parent(void);
/*
 * Called when the runtime stops and the receiver has ended. Gives the kernel
 * the actions, and the signals that are pending for the process and for t, the
 * caller. All signals are blocked, in_runtime is set.
 */
void wf_signal_stop(struct wf_thread *t);
/*
 * In the child: signals and their actions are the kernel's again.
 * has_own_actions: the child is a vfork child's, which has set its actions.
 */
void wf_signal_fork_child(struct wf_thread *t, bool has_own_actions);
/* Gives the kernel thread t's mask and alternate stack. */
void wf_signal_restore(const struct wf_thread *t);

/*
 * Around exec. exec_begin is the last step before exec. It gives the kernel the
 * signals that are pending for t, the caller, and for the process, for the new
 * program (t->given). It needs no VP; the caller has in_runtime 0. exec_failed
 * takes them back; all signals are blocked. exec_over delivers those that are
 * due, once the mask is open.
 */
void wf_signal_exec_begin(struct wf_thread *t);
void wf_signal_exec_failed(struct wf_thread *t);
void wf_signal_exec_over(struct wf_thread *t);

/*
 * Sets the fields of a thread that is being created. Other fields of the signal
 * layer are 0 already.
 */
void wf_signal_thread_init(struct wf_thread *t);
/*
 * Called when t, the caller, has its TLS: from now on handlers may run. The
 * caller has in_runtime 0.
 */
void wf_signal_thread_begin(struct wf_thread *t);
/*
 * Ends signals for t: none of its handlers runs from now on. Signals to the
 * process for which t was chosen go to other threads. `me`, the caller, is in
 * the runtime.
 */
void wf_signal_thread_end(struct wf_thread *me, struct wf_thread *t);

#endif
