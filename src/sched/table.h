/* SPDX-License-Identifier: MIT */
/*
 * The table of all threads: a dense array that never moves or shrinks.
 * Index 0 is nobody.
 */
#ifndef WEFT_SCHED_TABLE_H
#define WEFT_SCHED_TABLE_H

#include "sched/thread.h"

extern struct wf_thread *wf_table;

/*
 * Free threads that a VP keeps for itself, so that most are taken and put
 * back without a lock: a few per class, the last put first. Owned by whoever
 * owns the VP.
 */
enum { WF_POOL_CLASSES = 4, WF_POOL_SIZE = 32 };
struct wf_pool_class {
	struct wf_slot_class *class; /* NULL: not used yet */
	uint32_t nr;
	struct wf_thread *threads[WF_POOL_SIZE];
};
struct wf_pool {
	struct wf_pool_class of[WF_POOL_CLASSES];
	struct wf_pool_class *last; /* that was used last, or NULL */
	struct wf_thread *hot;	    /* put back last and still there, or NULL */
	uint32_t next_victim;	    /* when a class too many comes */
};

/* Makes the first piece of the array. Returns 0 or -ENOMEM. */
int wf_table_init(void);

static inline struct wf_thread *wf_table_at(uint32_t index)
{
	return &wf_table[index];
}

/* Some have been given back to all since this was cleared. */
extern _Atomic bool wf_table_has_spare;

struct wf_thread *wf_table_get_slow(struct wf_pool *pool,
				    struct wf_slot_class *class);
void wf_table_put_slow(struct wf_pool *pool, struct wf_thread *t);
/* What it has goes to what all VPs share: its VP is no more. */
void wf_table_empty_pool(struct wf_pool *pool);

/*
 * A thread whose slot is of the class and belongs to nobody, a used one if
 * there is any. Its generation is new. NULL when memory or the table is
 * exhausted. With in_runtime set, as it may take a lock. `pool` is that of
 * the caller's VP, NULL if it has none.
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

/* The thread's last use of its memory is over. Any stack but its own. */
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
 * A thread that is about to begin leaves its own stack, which may never have
 * been touched, for the one on which the last thread of the VP has ended: it is
 * in the cache. With a thousand threads that end before the next one begins,
 * the misses would cost as much as all the rest. Returns the free thread that
 * has got its stack, or NULL: it keeps its own.
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
 * Free threads grow old from one wf_table_age to the next; take_old takes one
 * that is, for wf_table_put_cold when its slot has been trimmed. age says
 * whether any is old now. All with in_runtime set.
 */
struct wf_thread *wf_table_take_old(struct wf_slot_class *class);
void wf_table_put_cold(struct wf_thread *t);
bool wf_table_age(struct wf_slot_class *class);

/*
 * Threads that the table has room for without growing. The hook is called
 * before it grows, with the new number and with in_runtime set, and may refuse
 * with -ENOMEM: then there is no new thread.
 */
uint32_t wf_table_room(void);
extern int (*wf_table_grow_hook)(uint32_t room);

/* Highest index ever handed out, for walks over all threads. */
uint32_t wf_table_high(void);

/* In a fork child: nobody but `self` exists. */
void wf_table_fork_child(struct wf_thread *self);
uint32_t wf_table_fork_epoch(void);

/*
 * A number in [2^22 + 1, 2^30) that no other thread has that has not yet
 * exited, and none of the last 254 that used the same slot: the index, above it
 * the generation.
 */
extern uint32_t wf_tid_seed; /* so that processes differ in most numbers */
enum { WF_TID_INDEX_BITS = 22, WF_TID_GENERATIONS = 255 };
static inline int32_t wf_table_tid(const struct wf_thread *t)
{
	uint32_t high = 1 + (t->generation + wf_tid_seed) % WF_TID_GENERATIONS;

	return (int32_t)(high << WF_TID_INDEX_BITS | t->index);
}

/* The thread with this tid, or NULL: it has exited. */
struct wf_thread *wf_table_by_tid(int32_t tid);

#endif
