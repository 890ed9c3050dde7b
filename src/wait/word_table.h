/* SPDX-License-Identifier: MIT */
/*
 * Waits for words at arbitrary addresses: a table of slots, each of which says
 * where to look and for what.
 */
#ifndef WEFT_WAIT_WORD_TABLE_H
#define WEFT_WAIT_WORD_TABLE_H

#include "arch/words.h"
#include "sched/thread.h"

enum { WF_WORD_SLOTS_MAX = 1 << 20 };

/* What nobody reads who only looks for changes. Bucket of the key. */
struct wf_word_slot_info {
	_Atomic(const void *) key; /* of the wait's bucket; NULL: none */
	uint32_t next;		   /* slot of the same wait; 0: none */
	bool is_rung, is_polled;
};

/* A slot's number is its index; 0 is none. */
struct wf_word_table {
	struct wf_arch_slot *slots; /* owner: the thread that waits */
	struct wf_word_slot_info *infos;
	_Atomic uint32_t high; /* all in use are below */
};

extern struct wf_word_table wf_word_table;

/*
 * nr slots, chained by next; the first one's number, or 0 for want of memory.
 * in_runtime set, signals closed.
 */
uint32_t wf_word_slots_get(size_t nr);
void wf_word_slots_put(uint32_t first);

/* From now on t is woken through the slot. */
void wf_word_slot_arm_locked(uint32_t n, const void *key, struct wf_thread *t,
			     const struct wf_arch_slot *what, bool is_rung,
			     bool is_polled);
void wf_word_slot_disarm_locked(uint32_t n);
/* It is not looked at any more. */
void wf_word_slot_mute_locked(uint32_t n);

static inline struct wf_thread *wf_word_slot_waiter(uint32_t n)
{
	return __atomic_load_n(&wf_word_table.slots[n].owner, __ATOMIC_RELAXED);
}

/*
 * The first slot from `from` to before `end` whose word has changed, or end.
 * *ret_faulted: there is no memory any more. can_fault: SIGSEGV and SIGBUS are
 * open; else the kernel reads, which takes fifty times as long.
 */
uint32_t wf_word_slot_find(uint32_t from, uint32_t end, bool can_fault,
			   bool *ret_faulted);

/* Has the one word changed? 1, 0, -EFAULT. */
int wf_word_slot_check(const struct wf_arch_slot *what, bool can_fault);

void wf_word_table_fork_child(void);

#endif
