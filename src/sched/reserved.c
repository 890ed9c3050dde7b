/* SPDX-License-Identifier: MIT */
/*
 * A reserved carrier is a spare with a thread's tid in its word reserved_for.
 * The bit WF_WORK_BIND sends the thread to the carrier, which becomes its bound
 * carrier. find_reserved walks over all carriers, since only few threads have
 * one.
 *
 * RESERVED-1. c->reserved_for is the tid of the thread that is or will be bound
 *     to c. It is set under the lock, and a thread's kind changes from
 *     multiplexed to bound under the lock. So no carrier is reserved for a
 *     thread that has one.
 * RESERVED-2. A reserved carrier sleeps until its thread comes, and is in no
 *     list of spares. If the thread ends before, the carrier exits: another
 *     thread has changed its kernel state.
 */
#include "sched/reserved.h"

#include "sched/carrier.h"

/* protects the claims of RESERVED-1 */
static struct wf_spin lock = WF_SPIN_INIT;
/* a carrier was ever reserved; set once */
static _Atomic bool has_any;

static struct wf_carrier *find_reserved(const struct wf_thread *t)
{
	int32_t tid = t->tid; /* 0 once the thread's slot is free */
	uint32_t nr;

	if (!wf_load_acquire(&has_any) || tid <= 0)
		return NULL;
	nr = wf_carrier_count();
	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (c != NULL && wf_load_acquire(&c->reserved_for) == tid)
			return c;
	}
	return NULL;
}

struct wf_carrier *wf_reserved_find(const struct wf_thread *t)
{
	struct wf_carrier *c = find_reserved(t);

	/* Until t is there, t->carrier is the old carrier: so a reserved one
	 * counts. */
	if (c != NULL || t->kind != WF_THREAD_BOUND)
		return c;
	return t->carrier;
}

struct wf_carrier *wf_reserved_make(struct wf_thread *t, enum wf_bound_why why)
{
	struct wf_carrier *c = wf_reserved_find(t), *spare;

	if (c != NULL)
		return c;
	spare = wf_carrier_need_spare();
	if (spare == NULL)
		return NULL;
	wf_spin_lock(&lock, WF_RANK_RESERVED);
	c = wf_reserved_find(t);
	if (c == NULL) {
		c = spare;
		c->bound_why = (uint8_t)why;
		/* release: publishes the carrier's state; pairs with the load
		 * in find_reserved. */
		wf_store_release(&c->reserved_for, t->tid);
		wf_store_release(&has_any, true);
		atomic_fetch_or(&t->exit_work, WF_WORK_BIND);
	}
	wf_spin_unlock(&lock);
	if (c != spare)
		wf_carrier_put_back(spare);
	/* Replaces the spare: the caller's carrier may block next and need
	 * it. */
	wf_carrier_ensure_spare();
	return c;
}

/* Runs when t has left c's stack: gives t to its reserved carrier. */
static void hand_over(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;

	t->vp = NULL;
	wf_carrier_give_bound(find_reserved(t), t);
}

wf_post_fn *wf_reserved_go_begin(struct wf_thread *t)
{
	bool goes;

	wf_spin_lock(&lock, WF_RANK_RESERVED);
	goes = t->kind == WF_THREAD_MULTIPLEXED && find_reserved(t) != NULL;
	if (goes) {
		atomic_fetch_and(&t->exit_work, ~(uint32_t)WF_WORK_BIND);
		t->kind = WF_THREAD_BOUND;
	}
	wf_spin_unlock(&lock);
	return goes ? hand_over : NULL;
}

bool wf_reserved_stay(struct wf_thread *t)
{
	bool stays;

	wf_spin_lock(&lock, WF_RANK_RESERVED);
	stays = find_reserved(t) == NULL;
	if (stays)
		t->kind = WF_THREAD_BOUND;
	wf_spin_unlock(&lock);
	return stays;
}

static WF_COLD void end_reserved(struct wf_thread *t, bool is_late)
{
	struct wf_carrier *c = find_reserved(t);

	if (c == NULL)
		return;
	if (is_late)
		c->is_altered = true; /* RESERVED-2: makes it exit */
	wf_store_release(&c->reserved_for, 0);
	if (is_late)
		wf_carrier_wake(c);
}

WF_LINK_INLINE void wf_reserved_end(struct wf_thread *t)
{
	bool is_late = t->kind == WF_THREAD_MULTIPLEXED;

	if (WF_UNLIKELY(!is_late ||
			(wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) != 0))
		end_reserved(t, is_late);
}

void wf_reserved_fork_child(void)
{
	lock = WF_SPIN_INIT;
}
