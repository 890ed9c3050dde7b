/*
 * What run queues hold: 64-bit entries.
 *
 *	bits 0..31  index of the thread, never 0
 *	bit  32     UNSTARTED: a thread that had not run when it was queued
 *	bits 33..63 its generation, for unstarted entries
 *
 * An entry without UNSTARTED is the one and only place of a runnable thread.
 * One with UNSTARTED is an offer: whoever wins the compare-and-swap on the
 * thread's `unstarted` word owns the thread, everybody else drops the entry.
 * The flag is in the entry, not looked up in the thread, since the slot may
 * have been claimed by a joiner and used again while the entry still waits.
 */
#ifndef WEFT_SCHED_ENTRY_H
#define WEFT_SCHED_ENTRY_H

#include "sched/table.h"
#include "sched/thread.h"
#include "sched/vp.h"

#define WF_ENTRY_NONE 0
#define WF_ENTRY_UNSTARTED (1ULL << 32)

/* Of struct wf_thread.unstarted. */
#define WF_UNSTARTED_BIT (1U << 31)
#define WF_GENERATION_MASK (WF_UNSTARTED_BIT - 1)

static inline uint64_t wf_entry_started(const struct wf_thread *t)
{
	return t->index;
}

static inline uint64_t wf_entry_unstarted(const struct wf_thread *t)
{
	return t->index | WF_ENTRY_UNSTARTED |
	       (uint64_t)(t->generation & WF_GENERATION_MASK) << 33;
}

/*
 * True for the one caller that may start generation `generation` of t.
 * FROM unstarted -> TO 0 [wf_thread_claim]
 */
static inline bool wf_thread_claim(struct wf_thread *t, uint32_t generation)
{
	uint32_t expected = (generation & WF_GENERATION_MASK) |
			    WF_UNSTARTED_BIT;

	if (wf_sched.nr_vps == 1) {
		/* Claimers own a VP: there is but one at a time. */
		if (wf_load_acquire(&t->unstarted) != expected)
			return false;
		wf_store_relaxed(&t->unstarted, 0);
		return true;
	}
	/* acquire: pairs with the creator's release of `unstarted`. */
	return wf_cas_acq_rel(&t->unstarted, &expected, 0);
}

/* An offer that somebody has taken up. */
static inline bool wf_entry_is_stale(uint64_t entry)
{
	const struct wf_thread *t = wf_table_at((uint32_t)entry);

	return (entry & WF_ENTRY_UNSTARTED) != 0 &&
	       wf_load_relaxed(&t->unstarted) !=
		       ((uint32_t)(entry >> 33) | WF_UNSTARTED_BIT);
}

/*
 * The thread to run for an entry that was taken from a queue, or NULL if the
 * entry's claim is lost. *ret_fresh: it was claimed and has no context yet.
 */
static inline struct wf_thread *wf_entry_take(uint64_t entry, bool *ret_fresh)
{
	struct wf_thread *t = wf_table_at((uint32_t)entry);

	*ret_fresh = false;
	if ((entry & WF_ENTRY_UNSTARTED) == 0)
		return t;
	*ret_fresh = true;
	return wf_thread_claim(t, (uint32_t)(entry >> 33)) ? t : NULL;
}

#endif
