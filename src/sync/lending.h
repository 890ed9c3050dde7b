/*
 * Who lends a priority to whom: mutexes with a priority protocol, to their
 * holders (sync/priority.c).
 *
 * A thread runs with its own priority, or the highest of those that the mutexes
 * it holds lend it: one with inheritance that of its first waiter, one with
 * protection its ceiling.
 *
 *     me = wf_lending_begin(&mask);
 *     wf_lending_join_locked(m);
 *     wf_lending_settle_locked(me, false);
 *     wf_lending_end(me, mask);
 *
 * The functions that end in _locked are for between begin and end, the others
 * are called with in_runtime 0. None blocks.
 */
#ifndef WEFT_SYNC_LENDING_H
#define WEFT_SYNC_LENDING_H

#include "base/list.h"
#include "sched/table.h"
#include "sync/mutex.h"

/* Of the word of a mutex with inheritance: the rest is its holder's id. */
#define WF_LENDING_WAITED (1U << 31)

/* One that waits for a mutex with inheritance, on its own stack. */
struct wf_lending_waiter {
	struct wf_list link; /* of the mutex's waiters, a ring */
	struct wf_lending_waiter *next;
	struct wf_thread *thread;
	struct wf_mutex *mutex;
	_Atomic uint32_t is_granted; /* what it parks on */
};

static inline bool wf_lending_inherits(const struct wf_mutex *m)
{
	return (wf_mutex_kind(m) & WF_MUTEX_INHERIT) != 0;
}

/* Its waiters, the highest priority first, where libc has a list of robust
 * mutexes. */
static inline struct wf_lending_waiter **wf_lending_first(struct wf_mutex *m)
{
	return (struct wf_lending_waiter **)&m->libc.__data.__list.__next;
}

static inline uint32_t wf_lending_ceiling(const struct wf_mutex *m)
{
	return m->libc.__data.__nusers;
}

/* An id, WF_OWNER_NONE if it is free. */
static inline uint32_t wf_lending_holder(const struct wf_mutex *m)
{
	return wf_lending_inherits(m) ?
		       wf_load_relaxed(&m->word) & ~WF_LENDING_WAITED :
		       wf_load_relaxed(&m->owner);
}

/* NULL: it is gone. */
static inline struct wf_thread *wf_lending_thread(uint32_t id)
{
	return wf_table_by_tid((int32_t)id);
}

struct wf_thread *wf_lending_begin(uint64_t *ret_mask);
void wf_lending_end(struct wf_thread *me, uint64_t mask);

/* m is held: it lends what it has to lend now, or nothing any more. */
void wf_lending_join_locked(struct wf_mutex *m);
void wf_lending_leave_locked(struct wf_mutex *m, uint32_t holder);

/* Of w->mutex. What that lends is the caller's to tell. */
void wf_lending_add_locked(struct wf_lending_waiter *w);
void wf_lending_remove_locked(struct wf_lending_waiter *w);

/* What is lent to t, which may be NULL, has changed, or t's own priority is
 * new. */
void wf_lending_settle_locked(struct wf_thread *t, bool is_new);

/* The highest ceiling of the mutexes that t holds, 0 if there is none. */
uint32_t wf_lending_protected(const struct wf_thread *t);

/* t's own policy or priority has been set. */
void wf_lending_changed(struct wf_thread *t);

/* The caller ends, and what it holds lends nothing any more. */
void wf_lending_thread_end(const struct wf_thread *t);

/* In a fork child: nobody waits. */
void wf_lending_fork_child(void);

#endif
