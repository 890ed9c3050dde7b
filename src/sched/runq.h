/*
 * Run queue: a bounded ring of 64-bit entries, owned by one VP and robbed by
 * the others.
 *
 *     if (!wf_runq_push_tail(&vp->ring_i, entry))    owner
 *             ... full: move half of it elsewhere
 *     if (wf_runq_pop(&other->ring_i, &entry))       anybody
 *             ... entry is ours
 *
 * An entry that was pushed is returned exactly once. The owner is whoever has
 * the VP; when a VP changes hands, what the old owner did happens before what
 * the new one does. Nothing here blocks, and no function takes a lock, so a
 * stopped kernel thread stops nobody else.
 */
#ifndef WEFT_SCHED_RUNQ_H
#define WEFT_SCHED_RUNQ_H

#include "base/atomic.h"
#include "base/compiler.h"

/*
 * A power of two. What does not fit goes through the injection queue and back,
 * which costs 10 ns more a turn: a third of the turn of one of 1000 threads
 * that yield. Model checks shrink it.
 */
#ifndef WF_RUNQ_SIZE
#define WF_RUNQ_SIZE 1024
#endif

struct wf_runq {
	/* Low half: position of the first entry; high half: version. Owner
	 * and thieves, CAS. */
	_Atomic uint64_t head WF_ALIGNED(WF_CACHE_LINE);
	/* Position behind the last entry; owner. */
	_Atomic uint32_t tail WF_ALIGNED(WF_CACHE_LINE);
	_Atomic uint64_t slot[WF_RUNQ_SIZE]; /* owner; anybody reads */
};

/* Nobody else may be using it. */
void wf_runq_init(struct wf_runq *q);

/* Owner. Returns false if the ring is full. */
bool wf_runq_push_tail(struct wf_runq *q, uint64_t entry);
/* Owner. In front of all others; false if the ring is full. */
bool wf_runq_push_head(struct wf_runq *q, uint64_t entry);

/* Owner: no entry. Anybody: there was none a moment ago. */
static inline bool wf_runq_is_empty(const struct wf_runq *q)
{
	return (uint32_t)wf_load_relaxed(&q->head) == wf_load_relaxed(&q->tail);
}

/* Anybody. Takes the first entry; false if there is none. */
bool wf_runq_pop(struct wf_runq *q, uint64_t *ret_entry);
/* Owner, if nobody else ever takes one: the same without a CAS. */
bool wf_runq_pop_alone(struct wf_runq *q, uint64_t *ret_entry);
/*
 * Anybody. Takes the first half of the entries, rounded up and at most max, in
 * their order; returns how many.
 */
uint32_t wf_runq_take_half(struct wf_runq *q, uint64_t *ret_entries,
			   uint32_t max);

/*
 * Anybody. Takes the first entries for as long as is_stale says so of them,
 * and forgets them; returns how many.
 */
uint32_t wf_runq_drop(struct wf_runq *q, bool (*is_stale)(uint64_t entry));

/*
 * Anybody. wf_runq_len without the entries of which is_stale says so, as far
 * as it looks: at the first WF_RUNQ_LOOK.
 */
enum { WF_RUNQ_LOOK = 64 };
uint32_t wf_runq_live(const struct wf_runq *q,
		      bool (*is_stale)(uint64_t entry));

/* Anybody. Between 0 and WF_RUNQ_SIZE; exact if nobody else is at work. */
uint32_t wf_runq_len(const struct wf_runq *q);

/*
 * Anybody. Positions of the first entry and behind the last one. They count up
 * and wrap; only wf_runq_push_head makes the first one go down.
 */
void wf_runq_positions(const struct wf_runq *q, uint32_t *ret_first,
		       uint32_t *ret_end);

/* Anybody. A number that changes each time the first entry does. */
uint32_t wf_runq_head(const struct wf_runq *q);

#endif
