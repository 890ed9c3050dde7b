/* Loaded objects by an address in their code. */
#ifndef WEFT_LIBC_OBJECT_H
#define WEFT_LIBC_OBJECT_H

#include <stdbool.h>

/*
 * Does the object that holds the address bring a runtime that speaks to the
 * kernel about its threads itself? Go's does: by system calls that are compiled
 * into it, it sets alternate stacks and signals kernel threads. Its linker
 * leaves a note, also in stripped files.
 *
 * Blocks nowhere, takes no lock where libc has _dl_find_object (glibc 2.35).
 */
bool wf_object_has_runtime(const void *address);

#endif
