/* SPDX-License-Identifier: MIT */
/* Code on the stacks of threads. Signal handler. */
#ifndef WEFT_SIGNAL_STACK_CODE_H
#define WEFT_SIGNAL_STACK_CODE_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/*
 * True if the fault is that code was to be executed on a stack that weft made,
 * which it may be now: the instruction is to be executed again.
 */
bool wf_stack_code_fixup(const siginfo_t *info, const ucontext_t *uc);

#endif
