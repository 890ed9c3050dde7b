/* SPDX-License-Identifier: MIT */
/*
 * glibc 2.41 and later make every blocking call through one function, the
 * cancellable syscall bridge, and a thread is cancelled where its program
 * counter says that it is inside. Earlier ones have no such function.
 */
#ifndef WEFT_LIBC_BRIDGE_H
#define WEFT_LIBC_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first cancellation; reads all of libc's code once. */
void wf_bridge_find(void);
/* About to make the call, or in it without any effect so far. */
bool wf_bridge_holds(uintptr_t pc);

#endif
