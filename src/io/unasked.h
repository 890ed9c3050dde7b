/*
 * Receives of a ring whose descriptor the program may have made non-blocking.
 * Nearly all end by what is received, long before it matters. So the kernel is
 * asked about those only that are still there when their VP has nothing else
 * to do, is preempted, or has handed over so many others since.
 *
 *     r->is_unasked = true;
 *     wf_unasked_add(me, &u, r);
 *     ...
 *     if (r->is_unasked)  // it is complete
 *             wf_unasked_drop(&u, r);
 *
 * All are called by the owner of the VP, with in_runtime set and no lock held.
 */
#ifndef WEFT_IO_UNASKED_H
#define WEFT_IO_UNASKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct wf_request;
struct wf_thread;

enum {
	WF_UNASKED_ROOM = 512,
	WF_UNASKED_AGES = 8,
};

struct wf_unasked {
	struct wf_request *rows[WF_UNASKED_ROOM]; /* NULL: no more */
	uint32_t first, next;		 /* indices wrap, differences do not */
	uint32_t nexts[WF_UNASKED_AGES]; /* at the last calls of _age */
	uint32_t nr_ages;
	_Atomic uint32_t nr; /* owner; anybody reads */
};

/* `me` as in wf_ready_woken. What is oldest is asked about for want of room. */
void wf_unasked_add(struct wf_thread *me, struct wf_unasked *u,
		    struct wf_request *r);
void wf_unasked_drop(struct wf_unasked *u, struct wf_request *r);

/* Asks about those that were there WF_UNASKED_AGES calls ago. */
void wf_unasked_age(struct wf_thread *me, struct wf_unasked *u);
/* Asks about the oldest, `most` at most. True if some are not to wait. */
bool wf_unasked_settle(struct wf_thread *me, struct wf_unasked *u,
		       uint32_t most);

/* Asks about r, which is in no table: shall it not wait? */
bool wf_unasked_is_refused(struct wf_request *r);

static inline bool wf_unasked_any(const struct wf_unasked *u)
{
	return wf_load_relaxed(&u->nr) != 0;
}

#endif
