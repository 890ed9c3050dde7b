/* SPDX-License-Identifier: MIT */
/*
 * CARRIER_EXIT-1. A carrier that exits is put into the list before, and no
 *     thread takes it from there until the kernel has cleared c->exiting: it is
 *     off its stack then.
 * CARRIER_EXIT-2. Its maker may note its tid late, under the lock on clones. So
 *     the tid is cleared under that lock, when the memory is used again; until
 *     then nothing is asked of the carrier (wf_carrier_is_exited).
 */
#include "sched/carrier_exit.h"

#include <linux/futex.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/clone_lock.h"
#include "sched/switch.h"

static struct wf_spin lock = WF_SPIN_INIT;
static struct wf_carrier *exited; /* CARRIER_EXIT-1; the lock */

static void put(struct wf_carrier *c)
{
	wf_spin_lock(&lock);
	c->spare_next = exited;
	exited = c;
	wf_spin_unlock(&lock);
}

/* The kernel clears the word when it is through. */
static WF_NORETURN void end(struct wf_carrier *c)
{
	if (c->cpu_timer >= 0)
		wf_sys(SYS_timer_delete, c->cpu_timer);
	wf_sys(SYS_set_tid_address, &c->exiting);
	for (;;)
		wf_sys(SYS_exit, 0);
}

void wf_carrier_exit(struct wf_carrier *c)
{
	if (wf_load_relaxed(&c->exiting) == 0) {
		if (wf_load_relaxed(&c->tid) == wf_os_getpid())
			return;
		wf_store_relaxed(&c->exiting, 1);
	}
	put(c);
	end(c);
}

void wf_carrier_note_exited(struct wf_carrier *c, bool is_free)
{
	if (c->cpu_timer >= 0)
		wf_sys(SYS_timer_delete, c->cpu_timer);
	c->bound = NULL;
	c->is_altered = true;
	wf_store_relaxed(&c->vp, NULL);
	/* release: changes of credentials pass it over from here on. */
	wf_store_release(&c->reserved_for, 0);
	if (is_free)
		put(c);
}

static bool is_going(const struct wf_carrier *c)
{
	int tid = wf_load_relaxed(&c->tid);

	return wf_carrier_is_exited(c) && tid != 0 && tid != wf_os_getpid() &&
	       wf_os_tgkill(tid, 0) == 0;
}

void wf_carrier_await_exited(void)
{
	enum { MOST_YIELDS = 1000 };
	uint32_t nr = wf_carrier_count();
	int yields = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_carrier *c = wf_carrier_at(i);

		while (c != NULL && is_going(c) && yields++ < MOST_YIELDS)
			wf_sys(SYS_sched_yield);
	}
}

struct wf_carrier *wf_carrier_reclaim(void)
{
	struct wf_carrier *c, **link;

	wf_spin_lock(&lock);
	/* acquire: it uses nothing of *c any more. */
	for (link = &exited; (c = *link) != NULL; link = &c->spare_next) {
		if (wf_load_acquire(&c->exiting) == 0)
			break;
	}
	if (c != NULL)
		*link = c->spare_next;
	wf_spin_unlock(&lock);
	if (c == NULL)
		return NULL;
	wf_clone_lock(); /* CARRIER_EXIT-2 */
	wf_store_relaxed(&c->tid, 0);
	wf_clone_unlock();
	return c;
}

static void leave_for(struct wf_carrier *c, void *other)
{
	struct wf_thread *t = c->bound;

	/* It exits: no change of credentials waits for it. */
	c->is_altered = true;
	wf_store_relaxed(&c->exiting, 1);
	wf_store_release(&c->reserved_for, 0);
	c->bound = NULL;
	wf_carrier_give_bound(other, t);
}

bool wf_carrier_exchange(struct wf_thread *t)
{
	struct wf_carrier *old = t->carrier, *other = wf_carrier_need_spare();

	if (other == NULL)
		return false;
	wf_switch_to_carrier(t, leave_for, other);
	while (wf_load_acquire(&old->exiting) != 0)
		wf_sys(SYS_futex, &old->exiting, FUTEX_WAIT, 1, NULL);
	return true;
}

void wf_carrier_exit_fork_child(void)
{
	lock = WF_SPIN_INIT;
	exited = NULL;
}
