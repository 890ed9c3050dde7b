/* SPDX-License-Identifier: MIT */
/*
 * Waits for words at arbitrary addresses: a table of slots, each with an
 * address, a mask and the old value.
 *
 *     first = wf_word_slots_get(nr);
 *     wf_word_slot_arm_locked(first, key, t, &slot, is_rung, is_polled);
 *     ...                                 t parks
 *     wf_word_slot_disarm_locked(first);
 *     wf_word_slots_put(first);
 */
#ifndef WEFT_WAIT_WORD_TABLE_H
#define WEFT_WAIT_WORD_TABLE_H

#include "arch/words.h"
#include "sched/thread.h"

enum { WF_WORD_SLOTS_MAX = 1 << 20 };

/*
 * The part of a slot that a search does not read. It changes under the lock of
 * the key's bucket.
 */
struct wf_word_slot_info {
	_Atomic(const void *) key; /* user futex key of the wait; or NULL */
	uint32_t next;		   /* number of the wait's next slot; 0: none */
	bool is_rung, is_polled;
};

/* All slots. A slot's number is its index; 0 means no slot. */
struct wf_word_table {
	/* `owner` of a slot is the thread that waits */
	struct wf_arch_slot *slots;
	struct wf_word_slot_info *infos;
	_Atomic uint32_t high; /* all slots in use have lower numbers */
};

extern struct wf_word_table wf_word_table;

/*
 * Takes nr slots, linked by next. Returns the number of the first, or 0 if
 * there is no memory. The caller has in_runtime set, signals closed.
 */
uint32_t wf_word_slots_get(size_t nr);
void wf_word_slots_put(uint32_t first);

/* Notes in slot n that t waits for `what`, with the user futex `key`. */
void wf_word_slot_arm_locked(uint32_t n, const void *key, struct wf_thread *t,
			     const struct wf_arch_slot *what, bool is_rung,
			     bool is_polled);
void wf_word_slot_disarm_locked(uint32_t n);
/* Makes polls skip slot n from now on. */
void wf_word_slot_mute_locked(uint32_t n);

static inline struct wf_thread *wf_word_slot_waiter(uint32_t n)
{
	return __atomic_load_n(&wf_word_table.slots[n].owner, __ATOMIC_RELAXED);
}

/*
 * Returns the first slot from `from` to before `end` with a changed word; `end`
 * if there is none. Sets *ret_faulted if its address cannot be read any more.
 * can_fault: SIGSEGV and SIGBUS are open. Otherwise the kernel reads, which
 * takes 50 times as long.
 */
uint32_t wf_word_slot_find(uint32_t from, uint32_t end, bool can_fault,
			   bool *ret_faulted);

/* Returns 1 if the word has changed, 0 if not, or -EFAULT. */
int wf_word_slot_check(const struct wf_arch_slot *what, bool can_fault);

void wf_word_table_fork_child(void);

#endif
