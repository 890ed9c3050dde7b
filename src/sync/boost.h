/* SPDX-License-Identifier: MIT */
/*
 * Priority boost: mutexes with a priority protocol raise the priority of their
 * holders (sync/priority.c).
 *
 *     me = wf_boost_begin(&mask);
 *     wf_boost_join_locked(m);
 *     wf_boost_settle_locked(me, false);
 *     wf_boost_end(me, mask);
 *
 * A thread runs with the highest of its own priority and the boosts of the
 * mutexes that it holds. With priority inheritance the boost of a mutex is the
 * priority of its first waiter. With a priority ceiling it is the ceiling.
 *
 * Functions that end in _locked are called between begin and end, the other
 * functions with in_runtime 0. None blocks.
 */
#ifndef WEFT_SYNC_BOOST_H
#define WEFT_SYNC_BOOST_H

#include "base/list.h"
#include "sched/table.h"
#include "sync/mutex.h"

/*
 * The bit in the word of a mutex with inheritance that says that threads wait.
 * The other bits are its holder's id.
 */
#define WF_BOOST_WAITED (1U << 31)

/* A wait for a mutex with inheritance. Lies on the waiter's stack. */
struct wf_boost_waiter {
	struct wf_list link; /* circular list of the mutex's waiters */
	struct wf_boost_waiter *next;
	struct wf_thread *thread;
	struct wf_mutex *mutex;
	/* 1: has the mutex; user futex of the waiter */
	_Atomic uint32_t is_granted;
};

static inline bool wf_boost_inherits(const struct wf_mutex *m)
{
	return (wf_mutex_kind(m) & WF_MUTEX_INHERIT) != 0;
}

/*
 * Returns the first of m's waiters, which has the highest priority. The field
 * is libc's link of robust mutexes, and m is not robust.
 */
static inline struct wf_boost_waiter **wf_boost_first(struct wf_mutex *m)
{
	return (struct wf_boost_waiter **)&m->libc.libc_next;
}

static inline uint32_t wf_boost_ceiling(const struct wf_mutex *m)
{
	return m->libc.libc_users;
}

/* Returns the id of m's holder; WF_OWNER_NONE if m is free. */
static inline uint32_t wf_boost_holder(const struct wf_mutex *m)
{
	return wf_boost_inherits(m) ?
		       wf_load_relaxed(&m->word) & ~WF_BOOST_WAITED :
		       wf_load_relaxed(&m->owner);
}

/* Returns the thread with this id; NULL if it has exited. */
static inline struct wf_thread *wf_boost_thread(uint32_t id)
{
	return wf_table_by_tid((int32_t)id);
}

struct wf_thread *wf_boost_begin(uint64_t *ret_mask);
void wf_boost_end(struct wf_thread *me, uint64_t mask);

/*
 * Called when m is held and its boost may have changed: from now on it boosts
 * its holder, or does so no longer.
 */
void wf_boost_join_locked(struct wf_mutex *m);
void wf_boost_leave_locked(struct wf_mutex *m, uint32_t holder);

/*
 * Add w to, and remove it from, the waiters of w->mutex. If that changes the
 * mutex's boost, the caller settles its holder.
 */
void wf_boost_add_locked(struct wf_boost_waiter *w);
void wf_boost_remove_locked(struct wf_boost_waiter *w);

/*
 * Sets the priority of t after a change of its boosts. is_new: t's own priority
 * was set. t may be NULL.
 */
void wf_boost_settle_locked(struct wf_thread *t, bool is_new);

/*
 * Returns the highest ceiling of the mutexes that t holds, 0 if there is none.
 */
uint32_t wf_boost_protected(const struct wf_thread *t);

/* Called when t's own policy or priority has been set. */
void wf_boost_changed(struct wf_thread *t);

/*
 * Called when the caller exits: the mutexes that it holds boost no thread any
 * more.
 */
void wf_boost_thread_end(const struct wf_thread *t);

/* In a fork child: empties the lists, since no thread waits there. */
void wf_boost_fork_child(void);

#endif
