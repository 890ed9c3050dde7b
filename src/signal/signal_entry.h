/* SPDX-License-Identifier: MIT */
/*
 * Signal entry: the function that the kernel calls for every signal that the
 * program has a handler for, and the handler of the kick.
 */
#ifndef WEFT_SIGNAL_SIGNAL_ENTRY_H
#define WEFT_SIGNAL_SIGNAL_ENTRY_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "sched/vp.h"

/* Raised by the instruction that was interrupted? What the kernel sends for
 * timers and the ends of children has a code above 0, too. */
bool wf_signal_entry_is_fault(int sig, const siginfo_t *info);

/* The handler of all signals. On the carrier's alternate stack, everything
 * blocked. */
void wf_signal_entry(int sig, siginfo_t *info, void *ucontext);

/*
 * In the handler of WF_PREEMPT_SIGNAL: delivers what is due for t, if a
 * handler may be entered on uc. Does not return if it did.
 */
void wf_signal_entry_kick(struct wf_thread *t, ucontext_t *uc);

/*
 * No handler of the program's has to run over uc, which weft's own has
 * interrupted: a call of the program's own does not end for that. In weft's
 * code and libc's it does, whose callers look at what has happened.
 */
void wf_signal_entry_restart_call(ucontext_t *uc);

/*
 * Sends on what lies in c's slot; in_runtime set. t is the thread that runs
 * on c, or NULL on the carrier's own stack.
 */
void wf_signal_entry_drain(struct wf_carrier *c, struct wf_thread *t);

/* Delivers what waits in the slot or the queue of t, which leaves the
 * runtime: wf_runtime_signal_work. */
void wf_signal_entry_at_exit(struct wf_thread *t);

#endif
