/* SPDX-License-Identifier: MIT */
/*
 * The table of all threads: an array of structs that never move and are never
 * released. Index 0 is no thread.
 *
 *     t = wf_table_get(pool, class);
 *     ...
 *     wf_table_put(pool, t);
 */
#ifndef WEFT_SCHED_TABLE_H
#define WEFT_SCHED_TABLE_H

#include "sched/thread.h"

extern struct wf_thread *wf_table;
/* The lowest index that no thread has ever had. wf_table_high reads it. */
extern _Atomic uint32_t wf_table_used;

/*
 * The pool of a VP: a few free threads per class, the last put first. So most
 * threads are taken and put back without a lock. The owner of the VP owns the
 * pool.
 */
enum { WF_POOL_CLASSES = 4, WF_POOL_SIZE = 32 };
struct wf_pool_class {
	struct wf_slot_class *class; /* NULL: not used yet */
	uint32_t nr;
	struct wf_thread *threads[WF_POOL_SIZE];
};
struct wf_pool {
	struct wf_pool_class of[WF_POOL_CLASSES];
	struct wf_pool_class *last; /* the class used last, or NULL */
	/* the thread put back last, if still free; or NULL */
	struct wf_thread *hot;
	/* the row to replace when a new class needs one */
	uint32_t next_victim;
};

/* Makes the first part of the array. Returns 0 or -ENOMEM. */
int wf_table_init(void);

static inline struct wf_thread *wf_table_at(uint32_t index)
{
	return &wf_table[index];
}

/*
 * True if a thread has been given back to the shared stacks since the reaper
 * cleared this.
 */
extern _Atomic bool wf_table_has_spare;

struct wf_thread *wf_table_get_slow(struct wf_pool *pool,
				    struct wf_slot_class *class);
void wf_table_put_slow(struct wf_pool *pool, struct wf_thread *t);
/*
 * Moves the pool's threads to the stacks that all VPs share. Called when the VP
 * ceases to exist.
 */
void wf_table_empty_pool(struct wf_pool *pool);

/*
 * Returns a free thread with a slot of the class, a used one if there is any.
 * Its generation is new. Returns NULL when memory or the table is exhausted.
 * Needs in_runtime set, since it may take a lock. `pool` is that of the
 * caller's VP, NULL if it has none.
 */
static inline struct wf_thread *wf_table_get(struct wf_pool *pool,
					     struct wf_slot_class *class)
{
	struct wf_pool_class *last = pool != NULL ? pool->last : NULL;
	struct wf_thread *t;

	if (WF_UNLIKELY(last == NULL || last->class != class || last->nr == 0))
		return wf_table_get_slow(pool, class);
	t = last->threads[--last->nr];
	pool->hot = NULL;
	t->generation++;
	return t;
}

/* Frees t, which no longer uses its memory. Not called on t's own stack. */
static inline void wf_table_put(struct wf_pool *pool, struct wf_thread *t)
{
	struct wf_pool_class *last = pool != NULL ? pool->last : NULL;

	if (WF_UNLIKELY(last == NULL || last->class != t->slot.class ||
			last->nr == WF_POOL_SIZE)) {
		wf_table_put_slow(pool, t);
		return;
	}
	t->tid = 0;
	last->threads[last->nr++] = t;
	pool->hot = t;
}

/*
 * Called when t is about to begin. Its own stack may never have been touched.
 * So t exchanges it for the stack on which the last thread of the VP has ended,
 * which is in the cache. Returns the free thread that has t's stack now, or
 * NULL if t keeps it.
 *
 * If a thousand threads end before the next thousand begin, the cache misses
 * without this would cost as much as all the rest.
 */
static inline struct wf_thread *wf_table_take_hot_stack(struct wf_pool *pool,
							struct wf_thread *t)
{
	struct wf_thread *hot = pool->hot;

	if (hot == NULL || hot->slot.class != t->slot.class ||
	    t->slot.has_user_stack || wf_load_relaxed(&t->slot.keeps_stack))
		return NULL;
	wf_slot_exchange_stacks(&hot->slot, &t->slot);
	pool->hot = NULL;
	return hot;
}

/*
 * How the reaper finds threads to trim. wf_table_age makes all threads old that
 * have been free since its last call, and returns true if any thread is old
 * now. wf_table_take_old takes an old thread. When its slot has been trimmed,
 * wf_table_put_cold puts the thread back. All need in_runtime set.
 */
struct wf_thread *wf_table_take_old(struct wf_slot_class *class);
void wf_table_put_cold(struct wf_thread *t);
bool wf_table_age(struct wf_slot_class *class);

/*
 * Returns the number of threads for which the table has room without growing.
 * When it has to grow, wf_upcall.table_grows may refuse: then no thread can be
 * made.
 */
uint32_t wf_table_room(void);

/*
 * Returns the lowest index that no thread has ever had: the end of a walk over
 * all threads.
 */
uint32_t wf_table_high(void);

/* In a fork child: frees all threads but `self`. */
void wf_table_fork_child(struct wf_thread *self);
uint32_t wf_table_fork_epoch(void);

/*
 * A tid that weft makes is in [2^22 + 1, 2^30): the generation of the slot
 * above the index. It differs from the tids of all threads that have not yet
 * exited, and from the last 254 of the same slot.
 */
extern uint32_t wf_tid_seed; /* differs between processes, so most tids do */
enum { WF_TID_INDEX_BITS = 22, WF_TID_GENERATIONS = 255 };
static inline int32_t wf_table_tid(const struct wf_thread *t)
{
	uint32_t high = 1 + (t->generation + wf_tid_seed) % WF_TID_GENERATIONS;

	return (int32_t)(high << WF_TID_INDEX_BITS | t->index);
}

/* The thread with this tid, or NULL if there is none. */
struct wf_thread *wf_table_by_tid(int32_t tid);

#endif
