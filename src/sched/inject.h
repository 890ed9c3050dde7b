/* SPDX-License-Identifier: MIT */
/*
 * A queue of entries that anybody may use: the process's injection queue, and
 * one remote queue per VP through which others give it threads.
 */
#ifndef WEFT_SCHED_INJECT_H
#define WEFT_SCHED_INJECT_H

#include <stdbool.h>

#include "base/spin.h"

struct wf_inject {
	struct wf_spin lock;
	_Atomic uint32_t len; /* written under the lock, read by anybody */
	uint32_t head;	      /* lock; index of the oldest */
	uint32_t capacity;    /* lock; a power of two, or 0 */
	_Atomic uint32_t nr_popped; /* ever, wraps; as len */
	uint64_t *entries;	    /* lock */
	uint64_t *first;	    /* stays when it grows */
};

/* Above it a program that has no memory left cannot queue threads. */
enum { WF_INJECT_FIRST = 4096 };

/* Gives back what it has grown by; it is empty, and nobody else is at it. */
void wf_inject_fini(struct wf_inject *q);

/* in_runtime set, or a kernel thread of weft's own. */
void wf_inject_push(struct wf_inject *q, const uint64_t *entries, uint32_t nr);
/* Takes up to max of the oldest; returns how many. */
uint32_t wf_inject_pop(struct wf_inject *q, uint64_t *ret_entries,
		       uint32_t max);

/* Takes the oldest for which is() holds. False: there is none. */
bool wf_inject_take(struct wf_inject *q, bool (*is)(uint64_t entry),
		    uint64_t *ret_entry);

static inline uint32_t wf_inject_len(const struct wf_inject *q)
{
	return wf_load_relaxed(&q->len);
}

/*
 * Empty and unlocked, also in a fork child. `first` is memory for
 * WF_INJECT_FIRST entries for good, or NULL.
 */
void wf_inject_reset(struct wf_inject *q, uint64_t *first);

#endif
