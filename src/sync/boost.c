/* SPDX-License-Identifier: MIT */
/*
 * A table with a row for each thread id has the mutexes that boost their
 * holder, and the waiters for mutexes with priority inheritance. After each
 * change the affected thread is settled: it gets the highest of its own
 * priority and its mutexes' boosts.
 *
 * BOOST-1. All of it is under `lock`.
 * BOOST-2. A mutex that boosts its holder is in the row of the holder's id. It
 *     is removed before it is free, so its memory is valid while it is in the
 *     row.
 * BOOST-3. A thread with a new priority may itself wait for a mutex with
 *     inheritance. Then its place among the waiters changes, and with it that
 *     mutex's boost. So settling follows the chain until nothing changes. It
 *     also ends in a circle: no boost there exceeds the highest priority of its
 *     threads.
 * BOOST-4. A row's list is complete at any time, since a fork child reads it
 *     without the lock.
 * BOOST-5. In a fork child the lists are empty. If the thread called fork in a
 *     handler, it may be a waiter: then its entry has no thread.
 *
 * Foreign threads have their policy from the kernel and are not boosted.
 *
 * Rejected: lists in struct wf_thread. It has no room for a feature that few
 * threads use.
 */
#include "sync/boost.h"

#include <sched.h>

#include "os/sys.h"
#include "sched/realtime.h"
#include "wait/closed.h"

enum { NR_ROWS = 64 };

static struct wf_spin lock = WF_SPIN_INIT;
static struct {
	struct wf_mutex *boosting;	 /* list through next_of: BOOST-2 */
	struct wf_boost_waiter *waiters; /* in the row of the waiter's id */
} rows[NR_ROWS];

/*
 * Returns the link to the next mutex of the row. It is libc's link of robust
 * mutexes, which m does not use.
 */
static struct wf_mutex **next_of(struct wf_mutex *m)
{
	return (struct wf_mutex **)&m->libc.libc_prev;
}

static uint32_t row_of(uint32_t id)
{
	return (id ^ id >> WF_TID_INDEX_BITS) % NR_ROWS;
}

/* Returns the priority that m gives its holder. */
static uint32_t boost_of(struct wf_mutex *m)
{
	if (!wf_boost_inherits(m))
		return wf_boost_ceiling(m);
	return *wf_boost_first(m) != NULL ?
		       (*wf_boost_first(m))->thread->rt_priority :
		       0;
}

struct wf_thread *wf_boost_begin(uint64_t *ret_mask)
{
	struct wf_thread *me = wf_runtime_enter();

	*ret_mask = wf_signals_close(me);
	wf_spin_lock(&lock, WF_RANK_BOOST);
	return me;
}

void wf_boost_end(struct wf_thread *me, uint64_t mask)
{
	wf_spin_unlock(&lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
}

/* --- lists ---------------------------------------------------------------- */

void wf_boost_leave_locked(struct wf_mutex *m, uint32_t holder)
{
	struct wf_mutex **at = &rows[row_of(holder)].boosting;

	while (*at != NULL && *at != m)
		at = next_of(*at);
	if (*at != NULL)
		*at = *next_of(m);
}

void wf_boost_join_locked(struct wf_mutex *m)
{
	struct wf_mutex **row = &rows[row_of(wf_boost_holder(m))].boosting;

	wf_boost_leave_locked(m, wf_boost_holder(m));
	if (boost_of(m) == 0)
		return;
	*next_of(m) = *row;
	/* BOOST-4: a whole list for fork */
	atomic_signal_fence(memory_order_seq_cst);
	*row = m;
}

static struct wf_boost_waiter *waiter_in(struct wf_list *link)
{
	return wf_container_of(link, struct wf_boost_waiter, link);
}

static void add_to_mutex_locked(struct wf_boost_waiter *w)
{
	struct wf_boost_waiter **first = wf_boost_first(w->mutex),
			       *before = *first;

	if (before == NULL) {
		wf_list_init(&w->link);
		*first = w;
		return;
	}
	/* Searches from the end, since most waiters have equal priorities. */
	while (waiter_in(before->link.prev)->thread->rt_priority <
	       w->thread->rt_priority) {
		before = waiter_in(before->link.prev);
		if (before == *first) {
			*first = w;
			break;
		}
	}
	wf_list_add_tail(&before->link, &w->link);
}

static void take_from_mutex_locked(struct wf_boost_waiter *w)
{
	struct wf_boost_waiter **first = wf_boost_first(w->mutex);
	struct wf_boost_waiter *next = waiter_in(w->link.next);

	if (*first == w)
		*first = next != w ? next : NULL;
	wf_list_del(&w->link);
}

void wf_boost_add_locked(struct wf_boost_waiter *w)
{
	struct wf_boost_waiter **row =
		&rows[row_of((uint32_t)w->thread->tid)].waiters;

	add_to_mutex_locked(w);
	w->next = *row;
	/* BOOST-4: a whole list for fork */
	atomic_signal_fence(memory_order_seq_cst);
	*row = w;
}

void wf_boost_remove_locked(struct wf_boost_waiter *w)
{
	struct wf_boost_waiter **at;

	if (w->thread == NULL) /* BOOST-5: in a fork child, in no list */
		return;
	at = &rows[row_of((uint32_t)w->thread->tid)].waiters;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	take_from_mutex_locked(w);
}

/* Returns t's wait for a mutex with inheritance, or NULL. */
static struct wf_boost_waiter *wait_of_locked(const struct wf_thread *t)
{
	struct wf_boost_waiter *w = rows[row_of((uint32_t)t->tid)].waiters;

	while (w != NULL && w->thread != t)
		w = w->next;
	return w;
}

/* --- priorities ----------------------------------------------------------- */

static uint32_t boost_for_locked(const struct wf_thread *t, bool ceilings_only)
{
	struct wf_mutex *m = rows[row_of((uint32_t)t->tid)].boosting;
	uint32_t highest = 0;

	for (; m != NULL; m = *next_of(m)) {
		if (wf_boost_holder(m) == (uint32_t)t->tid &&
		    !(ceilings_only && wf_boost_inherits(m)) &&
		    boost_of(m) > highest)
			highest = boost_of(m);
	}
	return highest;
}

/*
 * Sets t's priority, in the kernel, too, if t is bound and the process may do
 * that.
 */
static void set_locked(struct wf_thread *t, uint32_t priority)
{
	bool is_own = priority == (uint32_t)t->sched_priority;
	struct sched_param param = { .sched_priority = (int)priority };

	wf_realtime_set(t, priority);
	if (t->kind == WF_THREAD_BOUND && t->carrier != NULL)
		wf_sys(SYS_sched_setscheduler,
		       wf_load_relaxed(&t->carrier->tid),
		       is_own ? t->sched_policy : SCHED_FIFO, &param);
}

/*
 * Sets t's priority, and follows the chain of threads for which that matters.
 * BOOST-3
 */
void wf_boost_settle_locked(struct wf_thread *t, bool is_new)
{
	for (; t != NULL; is_new = false) {
		uint32_t own = (uint32_t)t->sched_priority;
		uint32_t boost = boost_for_locked(t, false);
		uint32_t priority = boost > own ? boost : own;
		struct wf_boost_waiter *w;

		if (priority == t->rt_priority && !is_new)
			return;
		set_locked(t, priority);
		w = wait_of_locked(t);
		if (w == NULL)
			return;
		take_from_mutex_locked(w);
		add_to_mutex_locked(w);
		wf_boost_join_locked(w->mutex);
		t = wf_boost_thread(wf_boost_holder(w->mutex));
	}
}

/* --- threads -------------------------------------------------------------- */

uint32_t wf_boost_protected(const struct wf_thread *t)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);
	uint32_t ceiling = boost_for_locked(t, true);

	wf_boost_end(me, mask);
	return ceiling;
}

void wf_boost_changed(struct wf_thread *t)
{
	uint64_t mask;
	struct wf_thread *me = wf_boost_begin(&mask);

	/* true: even with the same priority, t moves behind its equals. */
	wf_boost_settle_locked(t, true);
	wf_boost_end(me, mask);
}

static WF_COLD void end_boosts(const struct wf_thread *t)
{
	struct wf_mutex **at;
	struct wf_thread *me;
	uint64_t mask;

	me = wf_boost_begin(&mask);
	at = &rows[row_of((uint32_t)t->tid)].boosting;
	while (*at != NULL) {
		if (wf_boost_holder(*at) == (uint32_t)t->tid)
			*at = *next_of(*at);
		else
			at = next_of(*at);
	}
	wf_boost_end(me, mask);
}

WF_LINK_INLINE void wf_boost_thread_end(const struct wf_thread *t)
{
	if (WF_UNLIKELY(rows[row_of((uint32_t)t->tid)].boosting != NULL))
		end_boosts(t);
}

void wf_boost_fork_child(void)
{
	lock = WF_SPIN_INIT;
	for (int i = 0; i < NR_ROWS; i++) {
		for (struct wf_boost_waiter *w = rows[i].waiters; w != NULL;
		     w = w->next) {
			*wf_boost_first(w->mutex) = NULL;
			atomic_fetch_and(&w->mutex->word, ~WF_BOOST_WAITED);
			w->thread = NULL;
		}
		rows[i].waiters = NULL;
		rows[i].boosting = NULL;
	}
}
