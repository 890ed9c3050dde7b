/* SPDX-License-Identifier: MIT */
/*
 * Binds threads of a language runtime that makes system calls about its own
 * threads. Such a runtime is Go as a library in a C, C++ or Python program.
 *
 *     if (wf_object_has_runtime(start))          a thread that Go makes
 *             return wf_real.pthread_create(...);
 *     if (wf_object_has_runtime(caller))         a thread that enters Go
 *             wf_own_runtime_enter();
 */
#ifndef WEFT_THREAD_OWN_RUNTIME_H
#define WEFT_THREAD_OWN_RUNTIME_H

/*
 * Binds the caller. From then on its id, alternate stack and handlers are those
 * of its kernel thread (OWN_RUNTIME-1). Does nothing if that is so already, or
 * if no kernel thread can be made. The caller has in_runtime 0.
 */
void wf_own_runtime_enter(void);

#endif
