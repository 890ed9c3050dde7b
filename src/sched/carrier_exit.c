/* SPDX-License-Identifier: MIT */
/*
 * How an altered carrier ends, and how its memory serves another carrier. The
 * carrier puts itself into a list and exits. The kernel clears its word
 * `exiting` at the very end: then no code runs on its stack, and
 * wf_carrier_reclaim takes it out of the list.
 *
 * CARRIER_EXIT-1. An exiting carrier puts itself into the list first. No thread
 *     takes it out until the kernel has cleared c->exiting: then the kernel
 *     thread has left its stack.
 * CARRIER_EXIT-2. The thread that made a carrier may store its tid late, under
 *     the clone lock. So wf_carrier_reclaim clears the tid under that lock,
 *     before the memory is used again. Until then no thread asks anything of
 *     the carrier (wf_carrier_is_exited).
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
	wf_spin_lock(&lock, WF_RANK_CARRIER_EXIT);
	c->spare_next = exited;
	exited = c;
	wf_spin_unlock(&lock);
}

/* The kernel clears c->exiting when it no longer uses the stack. */
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
	/* release: from here on changes of credentials skip this carrier. */
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

	wf_spin_lock(&lock, WF_RANK_CARRIER_EXIT);
	/* acquire: the kernel thread's last accesses to *c come before the
	 * reuse of its memory. The kernel clears `exiting` after them. */
	for (link = &exited; (c = *link) != NULL; link = &c->spare_next) {
		if (wf_load_acquire(&c->exiting) == 0)
			break;
	}
	if (c != NULL)
		*link = c->spare_next;
	wf_spin_unlock(&lock);
	if (c == NULL)
		return NULL;
	wf_clone_lock(); /* CARRIER_EXIT-2: the tid may be stored late */
	wf_store_relaxed(&c->tid, 0);
	wf_clone_unlock();
	return c;
}

static void leave_for(struct wf_carrier *c, void *other)
{
	struct wf_thread *t = c->bound;

	/* c exits with this switch: is_altered and `exiting` mark it as exited,
	 * so that no change of credentials waits for it. */
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
