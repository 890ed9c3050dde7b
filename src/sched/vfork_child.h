/* SPDX-License-Identifier: MIT */
/*
 * vfork children: processes that vfork has made and that have neither executed
 * a program nor ended. A vfork child runs in its parent's memory and with the
 * TLS of the thread that made it, which waits in the kernel meanwhile. weft
 * treats the child as a process without threads: its requests to the kernel
 * concern its own process.
 *
 *     c = wf_vfork_child_begin();     in the parent; NULL: fork instead
 *     ... the child runs, here wf_is_vfork_child() is true ...
 *     wf_vfork_child_end(c);          in the parent, once the child has gone
 */
#ifndef WEFT_SCHED_VFORK_CHILD_H
#define WEFT_SCHED_VFORK_CHILD_H

#include "sched/thread.h"

/* at most so many at a time; further ones fork */
enum { WF_VFORK_CHILDREN = 32 };

struct wf_vfork_child {
	struct wf_thread self; /* the child's struct wf_thread */
	/* the thread that made it; NULL: free row */
	_Atomic(struct wf_thread *) parent;
	/* the parent's signal mask in the kernel */
	uint64_t mask;
	/* mapped by the child for the program that it will execute; or NULL */
	void *memory;
	size_t bytes;
};

extern struct wf_vfork_child wf_vfork_children[WF_VFORK_CHILDREN];

static inline bool wf_thread_is_vfork_child(const struct wf_thread *t)
{
	return (uintptr_t)t - (uintptr_t)wf_vfork_children <
	       sizeof(wf_vfork_children);
}

/* True if the caller is a vfork child. */
static inline bool wf_is_vfork_child(void)
{
	return wf_thread_is_vfork_child(wf_self);
}

/*
 * Called when the caller is about to make a vfork child: closes all signals,
 * and makes wf_self the child's. Returns NULL, and does nothing, if the caller
 * is a vfork child itself or there are WF_VFORK_CHILDREN already.
 */
struct wf_vfork_child *wf_vfork_child_begin(void);
/*
 * Called when the parent runs again: gives it back its wf_self and mask, and
 * frees the row.
 */
void wf_vfork_child_end(struct wf_vfork_child *c);
/* Returns the row of the vfork child with this wf_self. */
struct wf_vfork_child *wf_vfork_child_of(struct wf_thread *child);

/*
 * Returns the thread with this TCB. For a caller that has found a vfork child
 * in the TCB's wf_self.
 */
struct wf_thread *wf_vfork_child_parent(uintptr_t tcb);

/*
 * If the caller is a vfork child: its parent unmaps this memory once the child
 * has gone. NULL unmaps nothing.
 */
void wf_vfork_child_unmaps(void *memory, size_t bytes);

/*
 * Called in a fork child, which has memory of its own. Returns true if a vfork
 * child has made it: then the caller becomes a copy of the vfork child's
 * parent.
 */
bool wf_vfork_child_fork_child(void);

#endif
