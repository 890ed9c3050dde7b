/* SPDX-License-Identifier: MIT */
/*
 * The lock of ld.so's lists of objects, across a fork.
 *
 *     wf_loader_find_lock();          before the fork
 *     wf_loader_fork_child();         in the child
 */
#ifndef WEFT_LIBC_LOADER_H
#define WEFT_LIBC_LOADER_H

#include <link.h>
#include <stdbool.h>

/*
 * Finds the lock, once. Takes it for a moment: its holder must not wait for the
 * caller.
 */
void wf_loader_find_lock(void);

/* In a fork child: frees the lock, which a lost thread may have held. */
void wf_loader_fork_child(void);

/*
 * For callers that walk the lists. True if the object is in memory. False if
 * another thread was unloading it when the parent forked.
 */
bool wf_loader_has(const struct dl_phdr_info *info);

#endif
