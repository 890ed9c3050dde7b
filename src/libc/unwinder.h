/* SPDX-License-Identifier: MIT */
/*
 * The unwinder's own functions, by name. Never NULL: without one the process
 * ends. Called where the stack is unwound, by arch/x86_64/landing.S; loads
 * libgcc_s if nobody has, as libc does where a thread is cancelled.
 */
#ifndef WEFT_LIBC_UNWINDER_H
#define WEFT_LIBC_UNWINDER_H

void *wf_unwinder_find(const char *name);

#endif
