/* SPDX-License-Identifier: MIT */
/*
 * A vfork child uses the TLS of its parent, so its wf_self has to be changed
 * there. Each child gets a row with a struct wf_thread of its own, and wf_self
 * points to that until the parent runs again.
 *
 * VFORK_CHILD-1. The parent waits in the kernel until the child has gone, with
 *     all signals closed. So only the child runs with the parent's TLS, where
 *     wf_self is the child's. The child does not touch the parent's struct,
 *     which other threads read and write.
 * VFORK_CHILD-2. The row's parent is set before wf_self becomes the child's,
 *     and cleared after wf_self is the parent's again. So a thread that finds a
 *     vfork child in a TCB finds the TCB's thread through the row. If the row
 *     is free or another parent's by then, the TCB names its thread again.
 * VFORK_CHILD-3. A signal may end a child at any instruction. Of weft's
 *     data the child changes only its row, which the parent frees.
 */
#include "sched/vfork_child.h"

#include <signal.h>

#include "libc/layout.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/runtime.h"

struct wf_vfork_child wf_vfork_children[WF_VFORK_CHILDREN];

static struct wf_vfork_child *claim(struct wf_thread *parent)
{
	for (int i = 0; i < WF_VFORK_CHILDREN; i++) {
		struct wf_thread *nobody = NULL;

		if (wf_cas_acq_rel(&wf_vfork_children[i].parent, &nobody,
				   parent))
			return &wf_vfork_children[i];
	}
	return NULL;
}

/*
 * Fills in the child's struct. The program gets the parent thread's identity
 * for the child.
 */
static void make_self(struct wf_thread *self, const struct wf_thread *parent)
{
	*self = (struct wf_thread){
		.kind = WF_THREAD_FOREIGN,
		.tid = parent->tid,
		.sigmask = parent->sigmask,
		.altstack.flags = SS_DISABLE,
		.is_first = parent->is_first,
		.kernel_word = 1,
	};
	self->ctx.tp = parent->slot.tcb;
	self->slot.tcb = parent->slot.tcb;
}

WF_NOINLINE struct wf_vfork_child *wf_vfork_child_begin(void)
{
	struct wf_thread *t = wf_thread_self();
	struct wf_vfork_child *c;

	if (wf_thread_is_vfork_child(t))
		return NULL;
	c = claim(t);
	if (c == NULL)
		return NULL;
	make_self(&c->self, t);
	c->memory = NULL;
	c->mask = wf_os_close_signals();
	wf_self = &c->self;
	return c;
}

WF_NOINLINE void wf_vfork_child_end(struct wf_vfork_child *c)
{
	uint64_t mask = c->mask;

	if (c->memory != NULL)
		wf_os_release(c->memory, c->bytes);
	/* VFORK_CHILD-2: before the row is free */
	wf_self = wf_load_relaxed(&c->parent);
	wf_compiler_barrier();
	/* release: pairs with the CAS in claim */
	wf_store_release(&c->parent, NULL);
	wf_os_set_signal_mask(mask);
}

struct wf_vfork_child *wf_vfork_child_of(struct wf_thread *child)
{
	return (struct wf_vfork_child *)child;
}

struct wf_thread *wf_vfork_child_parent(uintptr_t tcb)
{
	const size_t at = wf_libc.self_offset;

	for (;;) {
		struct wf_thread *t = *(struct wf_thread *volatile *)(tcb + at);

		if (!wf_thread_is_vfork_child(t))
			return t;
		/* acquire: pairs with the CAS in claim. */
		t = wf_load_acquire(&wf_vfork_child_of(t)->parent);
		if (t != NULL && t->slot.tcb == tcb)
			return t; /* VFORK_CHILD-2: the row is this TCB's */
	}
}

void wf_vfork_child_unmaps(void *memory, size_t bytes)
{
	if (!wf_is_vfork_child())
		return;
	wf_vfork_child_of(wf_self)->bytes = bytes;
	wf_compiler_barrier(); /* VFORK_CHILD-3: bytes before memory */
	wf_vfork_child_of(wf_self)->memory = memory;
}

bool wf_vfork_child_fork_child(void)
{
	bool by_vfork_child = wf_is_vfork_child();

	if (by_vfork_child)
		wf_self = wf_load_relaxed(&wf_vfork_child_of(wf_self)->parent);
	for (int i = 0; i < WF_VFORK_CHILDREN; i++)
		wf_store_relaxed(&wf_vfork_children[i].parent, NULL);
	return by_vfork_child;
}
