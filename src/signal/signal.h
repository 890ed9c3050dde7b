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
 * From here on weft has the program's actions and takes the signals to the
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
/* Handles the signals in the slot of c, which runs no thread. */
void wf_signal_drain_idle(struct wf_carrier *c);

/* Around fork: all signals but weft's are blocked. */
void wf_signal_fork_prepare(void);
void wf_signal_fork_parent(void);
/*
 * The runtime ends, and the receiver has ended. Gives the kernel the actions,
 * and the signals that are pending for the process and for t, the caller. All
 * signals are blocked, in_runtime is set.
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
 * Around exec. wf_signal_exec_begin is the last step before exec: it gives the
 * kernel the signals that are pending for t, the caller, and for the process,
 * for the new program (t->given). It needs no VP; in_runtime 0.
 * wf_signal_exec_failed takes them back; all signals are blocked.
 * wf_signal_exec_over delivers those that are due, once the mask is open.
 */
void wf_signal_exec_begin(struct wf_thread *t);
void wf_signal_exec_failed(struct wf_thread *t);
void wf_signal_exec_over(struct wf_thread *t);

/* Sets the fields of a thread that is being created; the others are 0. */
void wf_signal_thread_init(struct wf_thread *t);
/* t, the caller, has its TLS, so handlers may run. in_runtime 0. */
void wf_signal_thread_begin(struct wf_thread *t);
/*
 * Ends signals for t: no handler of t's runs from here on. Signals to the
 * process that t was chosen for go to other threads. me, the caller, is in the
 * runtime.
 */
void wf_signal_thread_end(struct wf_thread *me, struct wf_thread *t);

#endif
