/* SPDX-License-Identifier: MIT */
/*
 * Run queue entries: 64 bits for each runnable thread.
 *
 *	bits 0..31  index of the thread, never 0
 *	bit  32     NOT_STARTED: a thread that had not run when it was queued
 *	bits 33..63 its generation, if NOT_STARTED is set
 *
 *     t = wf_entry_take(entry, &is_fresh);
 *     if (t != NULL && is_fresh)
 *             wf_start_prepare(t, pool);
 *
 * An entry without NOT_STARTED is the one and only place of a runnable thread.
 * An entry with NOT_STARTED has to be claimed: the VP or joiner that wins the
 * compare-and-swap on the thread's `not_started` word owns the thread. All
 * other VPs and joiners drop the entry.
 *
 * The flag is in the entry, not in the thread. While the entry waits, a joiner
 * may claim the thread, and its slot may serve another thread.
 */
#ifndef WEFT_SCHED_ENTRY_H
#define WEFT_SCHED_ENTRY_H

#include "sched/table.h"
#include "sched/thread.h"
#include "sched/vp.h"

#define WF_ENTRY_NONE 0
#define WF_ENTRY_NOT_STARTED (1ULL << 32)

/*
 * The bit of struct wf_thread.not_started that says that no VP or joiner has
 * claimed the thread. The other bits are its generation.
 */
#define WF_NOT_STARTED_BIT (1U << 31)
#define WF_GENERATION_MASK (WF_NOT_STARTED_BIT - 1)

static inline uint64_t wf_entry_started(const struct wf_thread *t)
{
	return t->index;
}

static inline uint64_t wf_entry_not_started(const struct wf_thread *t)
{
	return t->index | WF_ENTRY_NOT_STARTED |
	       (uint64_t)(t->generation & WF_GENERATION_MASK) << 33;
}

/*
 * Returns true to the one caller that may start generation `generation` of t.
 * FROM generation | NOT_STARTED -> TO 0 [wf_thread_claim]
 */
static inline bool wf_thread_claim(struct wf_thread *t, uint32_t generation)
{
	uint32_t expected = (generation & WF_GENERATION_MASK) |
			    WF_NOT_STARTED_BIT;

	if (wf_sched.nr_vps == 1) {
		/* With one VP no atomic instruction is needed: a claimer owns a
		 * VP, so no two threads claim at once. */
		if (wf_load_acquire(&t->not_started) != expected)
			return false;
		wf_store_relaxed(&t->not_started, 0);
		return true;
	}
	/* acquire: pairs with the creator's release of `not_started`. */
	return wf_cas_acq_rel(&t->not_started, &expected, 0);
}

/* True if another VP or a joiner has claimed the thread of the entry. */
WF_INLINE bool wf_entry_is_stale(uint64_t entry)
{
	const struct wf_thread *t = wf_table_at((uint32_t)entry);

	return (entry & WF_ENTRY_NOT_STARTED) != 0 &&
	       wf_load_relaxed(&t->not_started) !=
		       ((uint32_t)(entry >> 33) | WF_NOT_STARTED_BIT);
}

/*
 * Returns the thread of an entry that the caller has taken from a queue.
 * Returns NULL if another VP or a joiner has claimed the thread. Sets
 * *ret_fresh if the caller has just claimed it: then it has no context yet.
 */
static inline struct wf_thread *wf_entry_take(uint64_t entry, bool *ret_fresh)
{
	struct wf_thread *t = wf_table_at((uint32_t)entry);

	*ret_fresh = false;
	if ((entry & WF_ENTRY_NOT_STARTED) == 0)
		return t;
	*ret_fresh = true;
	return wf_thread_claim(t, (uint32_t)(entry >> 33)) ? t : NULL;
}

#endif
