/* SPDX-License-Identifier: MIT */
/*
 * A queue of entries that any kernel thread may use. The process has one, the
 * injection queue. Each VP has one, its remote queue, through which other
 * kernel threads give it threads.
 *
 *     wf_inject_push(&vp->remote, &entry, 1);
 *     nr = wf_inject_pop(&vp->remote, entries, max);
 */
#ifndef WEFT_SCHED_INJECT_H
#define WEFT_SCHED_INJECT_H

#include <stdbool.h>

#include "base/spin.h"

struct wf_inject {
	struct wf_spin lock;
	/* number of entries; written under the lock, read by any thread */
	_Atomic uint32_t len;
	uint32_t head; /* index of the oldest entry; lock */
	/* places in `entries`: a power of two, or 0; lock */
	uint32_t capacity;
	/* entries taken since the start, wraps; written under the lock */
	_Atomic uint32_t nr_popped;
	uint64_t *entries; /* the circular array; lock */
	uint64_t *first;   /* the initial memory; kept when the queue
				     * grows */
};

/*
 * Capacity of the first array. A queue with more entries grows, and weft ends
 * the process if there is no memory for that. 4096 makes this rare.
 */
enum { WF_INJECT_FIRST = 4096 };

/*
 * Releases the memory by which the queue has grown. The queue is empty, and no
 * other thread uses it.
 */
void wf_inject_fini(struct wf_inject *q);

/*
 * Needs in_runtime set, or a kernel thread of weft's own. Ends the process if
 * the queue has to grow and there is no memory.
 */
void wf_inject_push(struct wf_inject *q, const uint64_t *entries, uint32_t nr);
/* Takes up to max of the oldest entries; returns their number. */
uint32_t wf_inject_pop(struct wf_inject *q, uint64_t *ret_entries,
		       uint32_t max);

/*
 * Takes the oldest entry for which is() returns true. Returns false if there is
 * none.
 */
bool wf_inject_take(struct wf_inject *q, bool (*is)(uint64_t entry),
		    uint64_t *ret_entry);

static inline uint32_t wf_inject_len(const struct wf_inject *q)
{
	return wf_load_relaxed(&q->len);
}

/*
 * Makes the queue empty and unlocked, also in a fork child. `first` is memory
 * for WF_INJECT_FIRST entries, which the queue keeps; or NULL.
 */
void wf_inject_reset(struct wf_inject *q, uint64_t *first);

#endif
