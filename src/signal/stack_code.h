/* SPDX-License-Identifier: MIT */
/*
 * Makes thread stacks executable for code that lies on them, as GCC's nested
 * functions need. For signal handlers.
 *
 *     if (wf_stack_code_fixup(info, uc))
 *             return;	the thread repeats the instruction
 */
#ifndef WEFT_SIGNAL_STACK_CODE_H
#define WEFT_SIGNAL_STACK_CODE_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/*
 * True if the fault was an attempt to execute code on a stack that weft made,
 * and the stack is executable now. The thread then repeats the instruction.
 */
bool wf_stack_code_fixup(const siginfo_t *info, const ucontext_t *uc);

#endif
