/* SPDX-License-Identifier: MIT */
/* Calls about what the kernel keeps for each of its threads, by syscall(). */
#ifndef WEFT_API_KERNEL_STATE_H
#define WEFT_API_KERNEL_STATE_H

/*
 * The kernel's answer to a call of api/kernel_calls.h, made as the calling
 * thread's own.
 */
long wf_kernel_state_syscall(long nr, const long *args);

#endif
