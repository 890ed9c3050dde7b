/* SPDX-License-Identifier: MIT */
/*
 * Finds the cancellable syscall bridge of glibc 2.41 and later: the function
 * through which libc makes every blocking call. A thread may be cancelled while
 * its program counter is inside. Earlier versions have no such function.
 *
 *     wf_bridge_find();
 *     ...
 *     may_cancel = wf_bridge_holds(pc);
 */
#ifndef WEFT_LIBC_BRIDGE_H
#define WEFT_LIBC_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Call it before the first cancellation. Reads all of libc's code once. */
void wf_bridge_find(void);
/* True if pc is just before the call or in it, with no effect so far. */
bool wf_bridge_holds(uintptr_t pc);

#endif
