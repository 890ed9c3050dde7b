/* SPDX-License-Identifier: MIT */
/* Copying from and to where there may be no memory. */
#ifndef WEFT_ARCH_MEMORY_H
#define WEFT_ARCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/*
 * Copies upwards. -EFAULT if it met an address at which nothing can be read or
 * written; what is before that may have been copied. Else 0. That needs SIGSEGV
 * and SIGBUS open and wf_arch_copy_fixup in their handler, which says whether
 * it was such a fault.
 */
int wf_arch_copy(void *to, const void *from, size_t bytes);
bool wf_arch_copy_fixup(ucontext_t *uc);

#endif
