/*
 * The table of all threads: a dense array that never moves or shrinks.
 * Index 0 is nobody.
 */
#ifndef WEFT_SCHED_TABLE_H
#define WEFT_SCHED_TABLE_H

#include "sched/thread.h"

extern struct wf_thread *wf_table;

/* Reserves the array. Returns 0 or -ENOMEM. */
int wf_table_init(void);

static inline struct wf_thread *wf_table_at(uint32_t index)
{
	return &wf_table[index];
}

/*
 * A thread whose slot is of the class and belongs to nobody, a used one if
 * there is any. Its generation is new. NULL when memory
 * or the table is exhausted. With in_runtime set, as it takes a lock.
 */
struct wf_thread *wf_table_get(struct wf_slot_class *class);
/* The thread's last use of its memory is over. Any stack but its own. */
void wf_table_put(struct wf_thread *t);

/* Highest index ever handed out, for walks over all threads. */
uint32_t wf_table_high(void);

/* In a fork child: nobody but `self` exists. */
void wf_table_fork_child(struct wf_thread *self);
uint32_t wf_table_fork_epoch(void);

/* A number in [2^22 + 1, 2^30) that no other living thread has. */
int32_t wf_table_new_tid(void);

/* The living thread with this tid, or NULL. */
struct wf_thread *wf_table_by_tid(int32_t tid);

#endif
