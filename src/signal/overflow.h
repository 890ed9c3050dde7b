/* SPDX-License-Identifier: MIT */
/*
 * Reports which thread has overflowed its stack. For a signal handler on an
 * alternate stack.
 *
 *     if (sig == SIGSEGV)
 *             wf_overflow_report(t, info, uc);
 */
#ifndef WEFT_SIGNAL_OVERFLOW_H
#define WEFT_SIGNAL_OVERFLOW_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "sched/thread.h"

/*
 * True if a frame from top down to low would run into the guard of t's stack.
 */
bool wf_overflow_would(const struct wf_thread *t, uintptr_t top, uintptr_t low);

/* Prints one line if the fault is in the guard of t's stack. */
void wf_overflow_report(const struct wf_thread *t, const siginfo_t *info,
			const ucontext_t *uc);

#endif
