/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls again that the kernel never restarts after a handler:
 * calls that wait without a time limit, as poll and semop. If only weft's own
 * handler has run, the program should not notice the handler. weft knows the
 * number of a call in the program's own code if the instruction before puts it
 * into its register.
 *
 *     in weft's handler, if no handler of the program has to run:
 *             wf_arch_uc_call_again(uc);
 *     before a handler of the program is entered over uc:
 *             wf_arch_uc_call_is_over(uc);
 *
 * Call these also in signal handlers; they do not block.
 */
#ifndef WEFT_ARCH_ENDED_CALL_H
#define WEFT_ARCH_ENDED_CALL_H

#include <stdbool.h>
#include <ucontext.h>

/*
 * True if the call waits without a time limit and with its caller's signal
 * mask. A call for which this is true has had no effect when it returns EINTR.
 */
bool wf_arch_call_may_be_made_again(long nr, const long args[6]);

/*
 * If uc has just left a call of this kind with EINTR, makes uc execute the call
 * once more.
 */
void wf_arch_uc_call_again(ucontext_t *uc);

/*
 * Undoes wf_arch_uc_call_again: the call returns EINTR, and is not made again
 * later.
 */
void wf_arch_uc_call_is_over(ucontext_t *uc);

#endif
