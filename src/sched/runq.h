/* SPDX-License-Identifier: MIT */
/*
 * Run queue: a bounded circular array of 64-bit entries, which one VP owns and
 * from which the other VPs steal.
 *
 *     if (!wf_runq_push_tail(&vp->interactive, entry))    owner
 *             ... full: move half of it elsewhere
 *     if (wf_runq_pop(&other->interactive, &entry))       any thread
 *             ... entry is ours
 *
 * An entry that was pushed is returned exactly once. The owner is the kernel
 * thread that has the VP. When a VP changes hands, all that the old owner did
 * happens before all that the new one does. Nothing here blocks and no function
 * takes a lock, so a stopped kernel thread stops no other.
 */
#ifndef WEFT_SCHED_RUNQ_H
#define WEFT_SCHED_RUNQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/*
 * Capacity; a power of two. More entries go to the injection queue and come
 * back, which costs 10 ns more a turn. That is a third of a turn of 1000
 * threads that yield. Model checks use a smaller size.
 */
#ifndef WF_RUNQ_SIZE
#define WF_RUNQ_SIZE 1024
#endif

struct wf_runq {
	/* Low half: the first entry's position. High half: the version. Owner
	 * and thieves write it by CAS. */
	_Atomic uint64_t head WF_ALIGNED(WF_CACHE_LINE);
	/* The position behind the last entry. Only the owner writes it. */
	_Atomic uint32_t tail WF_ALIGNED(WF_CACHE_LINE);
	/* the owner writes, any thread reads */
	_Atomic uint64_t slot[WF_RUNQ_SIZE];
};

enum { WF_RUNQ_MASK = WF_RUNQ_SIZE - 1 };
_Static_assert((WF_RUNQ_SIZE & WF_RUNQ_MASK) == 0, "a power of two");

static inline uint32_t wf_runq_position(uint64_t head)
{
	return (uint32_t)head;
}

/*
 * Returns the head word `head` moved by `by` positions, with the next version
 * (RUNQ-4).
 */
static inline uint64_t wf_runq_moved(uint64_t head, uint32_t by)
{
	uint32_t version = (uint32_t)(head >> 32) + 1;

	return (uint64_t)version << 32 |
	       (uint32_t)(wf_runq_position(head) + by);
}

/* Makes the queue empty. No other thread uses it. */
void wf_runq_init(struct wf_runq *q);

/*
 * For the owner. Puts the entry behind all others. Returns false if the queue
 * is full.
 */
static inline bool wf_runq_push_tail(struct wf_runq *q, uint64_t entry)
{
	/* RUNQ-2: only this thread writes tail */
	uint32_t tail = wf_load_relaxed(&q->tail);
	/* acquire: the slot's last reader is done with it; pairs with the CAS
	 * in pop and take_half. */
	uint64_t head = wf_load_acquire(&q->head);

	/* Other threads only move head up. So an old head makes the queue look
	 * fuller than it is, never emptier (RUNQ-2). */
	if (tail - wf_runq_position(head) == WF_RUNQ_SIZE)
		return false;
	/* RUNQ-3: the slot is free */
	wf_store_relaxed(&q->slot[tail & WF_RUNQ_MASK], entry);
	/* release: publishes the slot; pairs with the acquire of tail in pop
	 * and take_half. */
	wf_store_release(&q->tail, tail + 1);
	return true;
}

/*
 * For the owner. Puts the entry before all others. Returns false if the queue
 * is full.
 */
bool wf_runq_push_head(struct wf_runq *q, uint64_t entry);

/*
 * For the owner: the queue is empty. For any other thread: it was empty a
 * moment ago.
 */
static inline bool wf_runq_is_empty(const struct wf_runq *q)
{
	return (uint32_t)wf_load_relaxed(&q->head) == wf_load_relaxed(&q->tail);
}

/* For any thread. Takes the first entry; returns false if there is none. */
static inline bool wf_runq_pop(struct wf_runq *q, uint64_t *ret_entry)
{
	/* acquire: the entry that push_head put there; pairs with its CAS of
	 * head. */
	uint64_t head = wf_load_acquire(&q->head);
	uint64_t entry;

	do {
		/* acquire: the entries up to tail; pairs with the release in
		 * push_tail. Read after head, so at least as new (RUNQ-1). */
		if (wf_load_acquire(&q->tail) == wf_runq_position(head))
			return false;
		entry = wf_load_relaxed(
			&q->slot[wf_runq_position(head) & WF_RUNQ_MASK]);
		/* release: the slot was read before it may be written; pairs
		 * with the acquire of head in push_tail and push_head. */
	} while (!wf_cas_acq_rel(&q->head, &head, wf_runq_moved(head, 1)));
	*ret_entry = entry; /* RUNQ-5: the CAS has made the entry ours */
	return true;
}

/*
 * As wf_runq_pop, but without a CAS: for an owner of a queue from which no
 * other thread takes. When the position wraps, the sum carries into the
 * version, which no CAS compares here.
 */
static inline bool wf_runq_pop_alone(struct wf_runq *q, uint64_t *ret_entry)
{
	/* only the owner moves it here */
	uint64_t head = wf_load_relaxed(&q->head);

	if (wf_load_relaxed(&q->tail) == wf_runq_position(head))
		return false;
	*ret_entry = wf_load_relaxed(
		&q->slot[wf_runq_position(head) & WF_RUNQ_MASK]);
	wf_store_relaxed(&q->head, head + 1);
	return true;
}

/*
 * For an owner of a queue from which no other thread takes, as for
 * wf_runq_pop_alone. Removes the last entry of the queue if the lower half of
 * that entry is `low`. Other threads that read the length may see it one too
 * small meanwhile.
 */
static inline void wf_runq_remove_last_alone(struct wf_runq *q, uint32_t low)
{
	uint32_t tail = wf_load_relaxed(&q->tail);

	if ((uint32_t)wf_load_relaxed(&q->slot[(tail - 1) & WF_RUNQ_MASK]) ==
		    low &&
	    !wf_runq_is_empty(q))
		wf_store_relaxed(&q->tail, tail - 1);
}

/*
 * For any thread. Returns the entry at place n from the first. If the queue
 * changes meanwhile, it may return an entry that has left, or 0.
 */
static inline uint64_t wf_runq_peek(const struct wf_runq *q, uint32_t n)
{
	uint32_t first = wf_runq_position(wf_load_relaxed(&q->head));

	return wf_load_relaxed(&q->slot[(first + n) & WF_RUNQ_MASK]);
}

/*
 * For any thread. Takes the first half of the entries, rounded up and at most
 * max, in their order. Returns their number.
 */
uint32_t wf_runq_take_half(struct wf_runq *q, uint64_t *ret_entries,
			   uint32_t max);

/*
 * For any thread. Removes entries from the head until is_stale() is false for
 * one. Returns the number removed.
 */
uint32_t wf_runq_drop(struct wf_runq *q, bool (*is_stale)(uint64_t entry));

/*
 * For any thread. The length without stale entries. Checks only the first
 * WF_RUNQ_PEEK entries, and counts all later ones.
 */
enum { WF_RUNQ_PEEK = 64 };
uint32_t wf_runq_live(const struct wf_runq *q,
		      bool (*is_stale)(uint64_t entry));

/*
 * For any thread. Between 0 and WF_RUNQ_SIZE; exact if no other thread changes
 * the queue.
 */
uint32_t wf_runq_len(const struct wf_runq *q);

/*
 * For any thread. The positions of the first entry and behind the last one.
 * They count up and wrap; only wf_runq_push_head makes the first one go down.
 */
void wf_runq_positions(const struct wf_runq *q, uint32_t *ret_first,
		       uint32_t *ret_end);

/*
 * For any thread. Returns a number that changes each time the queue's first
 * entry changes.
 */
uint32_t wf_runq_head(const struct wf_runq *q);

#endif
