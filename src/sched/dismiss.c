/* SPDX-License-Identifier: MIT */
/*
 * Stops all carriers when the runtime stops. The last thread sets the word
 * is_dismissed of each carrier and wakes it. The carrier ends at the top of the
 * agent's loop: on its own stack, without a thread and without a lock. The
 * first kernel thread cannot end, so the last thread moves to it.
 *
 * SCHED_DISMISS-1. A dismissed carrier may still make a spare, which may have a
 *     place in the table before its own. So the caller dismisses all carriers
 *     and checks them again, until two rounds in a row have found none.
 * SCHED_DISMISS-2. The first kernel thread gives up its VP and stores itself in
 *     `resting`. It waits for the caller's thread there, as a spare waits for a
 *     thread to bind.
 * SCHED_DISMISS-3. The carrier that the caller leaves ends by itself: the
 *     switch brings it to the top of the agent's loop.
 */
#include "sched/dismiss.h"

#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/switch.h"

/* the first carrier: SCHED_DISMISS-2 */
static _Atomic(struct wf_carrier *) resting;

void wf_dismiss_end(struct wf_carrier *c)
{
	if (!wf_dismiss_is_first(c)) {
		if (c->cpu_timer >= 0)
			wf_sys(SYS_timer_delete, c->cpu_timer);
		for (;;)
			wf_sys(SYS_exit, 0);
	}
	wf_store_relaxed(&c->vp, NULL);
	wf_store_relaxed(&c->wake_word, 0);
	/* release: the word; pairs with the acquire in wf_dismiss_carriers. */
	wf_store_release(&resting, c);
	wf_carrier_sleep(c);
}

static bool runs(const struct wf_carrier *c)
{
	int tid = c != NULL ? wf_load_acquire(&c->tid) : 0;

	return tid != 0 && wf_os_tgkill(tid, 0) == 0;
}

/*
 * Dismisses all carriers but the caller's and the resting one. Returns true if
 * a carrier still runs.
 */
static bool dismiss_all(const struct wf_thread *t)
{
	uint32_t nr = wf_carrier_count();
	bool any = false;

	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (!runs(c) || c == t->carrier ||
		    c == wf_load_acquire(&resting))
			continue;
		wf_store_release(&c->is_dismissed, true);
		wf_carrier_wake(c);
		any = true;
	}
	return any;
}

/* Waits for the end of all carriers but the caller's and the resting one. */
static bool await_others(const struct wf_thread *t, void (*rouse)(void))
{
	enum { NR_QUIET = 2, YIELDS = 20, MOST_NAPS = 50 * 1000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };
	int nr_quiet = 0;

	for (int i = 0; i < YIELDS + MOST_NAPS; i++) {
		nr_quiet = dismiss_all(t) ? 0 : nr_quiet + 1;
		/* SCHED_DISMISS-1: two rounds found none */
		if (nr_quiet == NR_QUIET)
			return true;
		rouse();
		if (i < YIELDS)
			wf_sys(SYS_sched_yield);
		else
			wf_sys(SYS_nanosleep, &nap, NULL);
	}
	return false;
}

/* SCHED_DISMISS-3. t is no longer on c's stack. */
static void hand_over(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;

	wf_store_relaxed(&c->vp, NULL);
	wf_store_release(&c->is_dismissed, true);
	c->bound = NULL;
	t->vp = NULL;
	t->kind = WF_THREAD_BOUND;
	wf_load_acquire(&resting)->bound_why = WF_BOUND_LAST;
	wf_carrier_give_bound(wf_load_acquire(&resting), t);
}

bool wf_dismiss_carriers(struct wf_thread *t, void (*rouse)(void))
{
	struct wf_carrier *left = t->carrier;

	wf_store_relaxed(&resting, NULL);
	if (!await_others(t, rouse))
		return false;
	if (wf_dismiss_is_first(left))
		return true;
	if (wf_load_acquire(&resting) == NULL)
		return false;
	wf_switch_to_carrier(t, hand_over, t);
	return wf_os_kthread_await_end(wf_load_relaxed(&left->tid), NULL);
}
