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

struct wf_tls_cache;

/*
 * Static TLS of all modules but libc and weft as at the program's start.
 * Returns by what it went, for wf_tls_may_be_dynamic; NULL without memory.
 */
const struct wf_tls_cache *wf_tls_renew(uintptr_t tcb);

/*
 * Has ld.so perhaps allocated TLS lazily for a thread that started when the
 * cache was right? NULL: yes. Calls nothing and takes no lock.
 */
bool wf_tls_may_be_dynamic(const struct wf_tls_cache *at_start);
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
