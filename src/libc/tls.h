/* SPDX-License-Identifier: MIT */
/*
 * Resets thread-local storage of the program's modules, and thread-specific
 * data, when a slot gets a new thread.
 *
 *     mark = wf_tls_renew(tcb);
 *     ...
 *     if (wf_tls_may_be_dynamic(tcb, mark))
 *             wf_tls_release(tcb);
 *
 * All functions run in the thread's own context with in_runtime 0: they may
 * take the loader's locks and call free.
 */
#ifndef WEFT_LIBC_TLS_H
#define WEFT_LIBC_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "libc/layout.h"

/* A value that no thread's generation has. */
#define WF_TLS_UNKNOWN UINT64_MAX

/*
 * Sets the static TLS of all modules but libc and weft to its initial values.
 * Returns a mark for wf_tls_may_be_dynamic.
 */
uint64_t wf_tls_renew(uintptr_t tcb);

/*
 * The generation in the thread's DTV (its table of TLS blocks): ld.so counts it
 * up when modules with TLS are loaded or unloaded.
 */
static inline uint64_t wf_tls_generation(uintptr_t tcb)
{
	return *(const uint64_t *)*wf_libc_dtv_slot(tcb);
}

/*
 * True if ld.so may have allocated TLS lazily for the thread since the mark.
 * For a module that was loaded later, ld.so changes the generation first.
 */
static inline bool wf_tls_may_be_dynamic(uintptr_t tcb, uint64_t mark)
{
	return wf_tls_generation(tcb) != mark;
}

/* Frees the blocks that ld.so has allocated lazily. */
void wf_tls_release(uintptr_t tcb);

/*
 * Runs the destructors of pthread_key_create's keys, then frees libc's own
 * tables. False if the thread never had a value.
 */
bool wf_tsd_destroy_slow(uintptr_t tcb);
static inline bool wf_tsd_destroy(uintptr_t tcb)
{
	if (WF_LIKELY(wf_libc.specific_used_offset != 0) &&
	    !*(bool *)(tcb + wf_libc.specific_used_offset))
		return false;
	return wf_tsd_destroy_slow(tcb);
}

#endif
