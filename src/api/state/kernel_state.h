/* SPDX-License-Identifier: MIT */
/*
 * Makes the system calls of api/state/kernel_calls.h, for syscall() and libc's
 * names.
 *
 *     if (wf_kernel_call_find(nr) != NULL)
 *             rc = wf_kernel_state_syscall(nr, args);
 */
#ifndef WEFT_API_STATE_KERNEL_STATE_H
#define WEFT_API_STATE_KERNEL_STATE_H

/*
 * Makes the call nr with six arguments. The changed thread, usually the caller,
 * is bound first if the call changes its kernel state. Returns the result or
 * -Exxx, and -EAGAIN if there is no kernel thread for it.
 */
long wf_kernel_state_syscall(long nr, const long *args);

#endif
