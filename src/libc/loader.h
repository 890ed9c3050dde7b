/* SPDX-License-Identifier: MIT */
/* ld.so's lock of its lists of objects, across a fork. */
#ifndef WEFT_LIBC_LOADER_H
#define WEFT_LIBC_LOADER_H

#include <link.h>
#include <stdbool.h>

/*
 * Finds the lock, once. Takes it for a moment, which nobody may be waiting for
 * the caller to do.
 */
void wf_loader_find_lock(void);

/* In the child of a fork nobody holds it. */
void wf_loader_fork_child(void);

/*
 * For who goes through the lists: is the object's memory there? Not if it was
 * being unloaded when the parent forked.
 */
bool wf_loader_has(const struct dl_phdr_info *info);

#endif
