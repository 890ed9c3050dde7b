/* SPDX-License-Identifier: MIT */
/*
 * Copies from and to addresses that may not be mapped.
 *
 *     if (wf_arch_copy(to, from, bytes) < 0)
 *             return -EFAULT;
 */
#ifndef WEFT_ARCH_MEMORY_H
#define WEFT_ARCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

/*
 * Copies from lower to higher addresses. Returns 0, or -EFAULT at an address
 * that cannot be read or written; bytes before it may have been copied. SIGSEGV
 * and SIGBUS must be unblocked, and their handler must call wf_arch_copy_fixup.
 * That returns true if the fault was in a copy.
 */
int wf_arch_copy(void *to, const void *from, size_t bytes);
bool wf_arch_copy_fixup(ucontext_t *uc);

#endif
