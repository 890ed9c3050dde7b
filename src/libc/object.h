/* SPDX-License-Identifier: MIT */
/* Loaded objects by an address in their code. */
#ifndef WEFT_LIBC_OBJECT_H
#define WEFT_LIBC_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

/* Where the program itself is, once somebody has asked. */
extern _Atomic uintptr_t wf_object_program, wf_object_program_bytes;

static inline bool wf_object_is_in_program(const void *address)
{
	/* acquire: pairs with find_program. */
	uintptr_t bytes = wf_load_acquire(&wf_object_program_bytes);

	return (uintptr_t)address - wf_load_relaxed(&wf_object_program) < bytes;
}

bool wf_object_has_runtime_slow(const void *address);

/*
 * Does the object that holds the address bring a runtime that speaks to the
 * kernel about its threads itself? Go's does: by system calls that are compiled
 * into it, it sets alternate stacks and signals kernel threads. Its linker
 * leaves a note, also in stripped files.
 *
 * Blocks nowhere, takes no lock where libc has _dl_find_object (glibc 2.35).
 */
static inline bool wf_object_has_runtime(const void *address)
{
	return !wf_object_is_in_program(address) &&
	       wf_object_has_runtime_slow(address);
}

#endif
