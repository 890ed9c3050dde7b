/* SPDX-License-Identifier: MIT */
/*
 * System calls that wait for as long as it takes, and that the kernel makes
 * never again when a handler has run: if that was weft's own, nobody should
 * notice. In a program's own code the number of such a call is known where the
 * instruction before has put it into its register.
 *
 *     in weft's handler, no handler of the program's has to run:
 *             wf_arch_uc_call_again(uc);
 *     before a handler of the program's is entered over uc:
 *             wf_arch_uc_call_is_over(uc);
 *
 * For signal handlers too; they do not block.
 */
#ifndef WEFT_ARCH_ENDED_CALL_H
#define WEFT_ARCH_ENDED_CALL_H

#include <stdbool.h>
#include <ucontext.h>

/*
 * Does it wait without a time, and with the mask of its caller? What it had
 * done before EINTR it has taken back.
 */
bool wf_arch_call_may_be_made_again(long nr, const long args[6]);

/* If uc has just left such a call with EINTR, it makes the call once more. */
void wf_arch_uc_call_again(ucontext_t *uc);

/* If so, it gets EINTR after all, and keeps that. */
void wf_arch_uc_call_is_over(ucontext_t *uc);

#endif
