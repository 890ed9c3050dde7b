/*
 * Thread-local storage of the program's modules, and thread-specific data,
 * when a slot changes its thread. Both run in the thread's own context with
 * in_runtime 0: they may take the loader's locks and call free.
 */
#ifndef WEFT_LIBC_TLS_H
#define WEFT_LIBC_TLS_H

#include <stdint.h>

/* Static TLS of all modules but libc and weft as at the program's start. */
void wf_tls_renew(uintptr_t tcb);

/* Frees blocks that ld.so allocated lazily. */
void wf_tls_release(uintptr_t tcb);

/* Destructors of pthread_key_create's keys, then libc's own tables. */
void wf_tsd_destroy(uintptr_t tcb);

#endif
