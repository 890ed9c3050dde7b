/*
 * A child of vfork, until it has executed a program or ended: it runs in its
 * parent's memory, with what weft keeps there.
 */
#ifndef WEFT_BOOT_BORROW_H
#define WEFT_BOOT_BORROW_H

#include <stdbool.h>

#include "boot/children.h"

/*
 * The calling process is about to lend its memory. False if it must not: it has
 * threads, or has borrowed the memory itself. A copy will do then.
 */
bool wf_borrow_begin(void);
/* Its child has gone; pid is what the system call has returned. */
void wf_borrow_end(long pid);
/* In a fork child, whose memory is its own. */
void wf_borrow_fork_child(void);

/* Is the calling process such a child? Anywhere, also in a signal handler. */
bool wf_is_borrower(void);

/* What the caller executes its program with; if it is a borrower and succeeds,
 * the lender frees it. */
void wf_borrow_keep_env(const struct wf_children_env *e);
void wf_borrow_free_env(struct wf_children_env *e);

#endif
