/* SPDX-License-Identifier: MIT */
/*
 * Threads that run a runtime which speaks to the kernel about them itself: Go
 * as a library in a C, C++ or Python program.
 *
 *     if (wf_object_has_runtime(start))          a thread of Go's own
 *             return wf_real.pthread_create(...);
 *     if (wf_object_has_runtime(caller))         a thread that enters Go
 *             wf_own_runtime_enter();
 */
#ifndef WEFT_THREAD_OWN_RUNTIME_H
#define WEFT_THREAD_OWN_RUNTIME_H

/*
 * The caller gets a kernel thread of its own, whose id, alternate stack and
 * handlers are what the kernel would give it (OWN_RUNTIME-1). Does nothing if
 * it has that already, or if there is no kernel thread to be had. in_runtime 0.
 */
void wf_own_runtime_enter(void);

#endif
