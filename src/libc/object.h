/* SPDX-License-Identifier: MIT */
/*
 * Finds loaded objects by an address in their code.
 *
 *     if (wf_object_has_runtime(start))
 *             return wf_real.pthread_create(thread, attr, start, arg);
 */
#ifndef WEFT_LIBC_OBJECT_H
#define WEFT_LIBC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* The program's own memory, known after the first question. */
extern _Atomic uintptr_t wf_object_program, wf_object_program_bytes;

static inline bool wf_object_is_in_program(const void *address)
{
	/* acquire: pairs with the release in find_program */
	uintptr_t bytes = wf_load_acquire(&wf_object_program_bytes);

	return (uintptr_t)address - wf_load_relaxed(&wf_object_program) < bytes;
}

bool wf_object_has_runtime_slow(const void *address);

/*
 * True if the object with this address has a language runtime that makes system
 * calls about its threads itself. Go's runtime does: its compiled-in system
 * calls set alternate stacks and signal kernel threads. Go's linker leaves a
 * note, also in stripped files.
 *
 * Never blocks, and takes no lock if libc has _dl_find_object (glibc 2.35).
 */
static inline bool wf_object_has_runtime(const void *address)
{
	return !wf_object_is_in_program(address) &&
	       wf_object_has_runtime_slow(address);
}

#endif
