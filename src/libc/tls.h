/* SPDX-License-Identifier: MIT */
/*
 * Thread-local storage of the program's modules, and thread-specific data,
 * when a slot changes its thread. Both run in the thread's own context with
 * in_runtime 0: they may take the loader's locks and call free.
 */
#ifndef WEFT_LIBC_TLS_H
#define WEFT_LIBC_TLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "libc/layout.h"

/* What no thread's generation is. */
#define WF_TLS_UNKNOWN UINT64_MAX

/*
 * Static TLS of all modules but libc and weft as at the program's start.
 * Returns a mark for wf_tls_may_be_dynamic.
 */
uint64_t wf_tls_renew(uintptr_t tcb);

/* Of the modules that the thread's table of blocks, the DTV, knows. */
static inline uint64_t wf_tls_generation(uintptr_t tcb)
{
	return *(const uint64_t *)*wf_libc_dtv_slot(tcb);
}

/*
 * Has ld.so perhaps allocated TLS lazily for the thread since it got the mark?
 * For a module that came later, it has changed the generation before.
 */
static inline bool wf_tls_may_be_dynamic(uintptr_t tcb, uint64_t mark)
{
	return wf_tls_generation(tcb) != mark;
}

/* Frees blocks that ld.so allocated lazily. */
void wf_tls_release(uintptr_t tcb);

/*
 * Destructors of pthread_key_create's keys, then libc's own tables. False if
 * the thread never had a value.
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
