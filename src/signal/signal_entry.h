/* SPDX-License-Identifier: MIT */
/*
 * Signal entry: the function that the kernel calls for every signal that the
 * program has a handler for, and the part of the kick's handler that delivers
 * signals.
 *
 *     action.handler = wf_signal_entry;
 *     action.mask = UINT64_MAX;
 */
#ifndef WEFT_SIGNAL_SIGNAL_ENTRY_H
#define WEFT_SIGNAL_SIGNAL_ENTRY_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "sched/vp.h"

/*
 * True if an instruction of the interrupted thread has raised the signal. A
 * code above 0 does not show that: signals of timers and of ended children have
 * one, too.
 */
bool wf_signal_entry_is_fault(int sig, const siginfo_t *info);

/*
 * The handler of all signals. Runs on the carrier's alternate stack, with all
 * signals blocked.
 */
void wf_signal_entry(int sig, siginfo_t *info, void *ucontext);

/*
 * Delivers the signals that are due for t, if a handler may be entered on uc.
 * Does not return if it enters one. The handler of WF_PREEMPT_SIGNAL calls it.
 */
void wf_signal_entry_kick(struct wf_thread *t, ucontext_t *uc);

/*
 * Called when a handler of weft's has interrupted uc and no handler of the
 * program's runs. Makes a system call in the program's code start again. A call
 * in weft's or libc's code ends with EINTR, and its caller checks for work.
 */
void wf_signal_entry_restart_call(ucontext_t *uc);

/*
 * Gives each signal in c's slot to the thread that it is for; the caller has
 * in_runtime set. t is the thread that runs on c, or NULL on the carrier's
 * stack.
 */
void wf_signal_entry_drain(struct wf_carrier *c, struct wf_thread *t);

/*
 * Delivers the signals in the slot and in the queue of t, which leaves the
 * runtime: wf_upcall.signal_work.
 */
void wf_signal_entry_at_exit(struct wf_thread *t);

#endif
