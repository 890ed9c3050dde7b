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

/* Frees the lock in a fork child: a thread that is lost may have held it. */
void wf_loader_fork_child(void);

/*
 * Is the object in memory? Callers that walk the lists of objects check this.
 * False if another thread was unloading the object when the parent forked.
 */
bool wf_loader_has(const struct dl_phdr_info *info);

#endif
