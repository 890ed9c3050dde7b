/* SPDX-License-Identifier: MIT */
/*
 * The deferred O_NONBLOCK check: whether the descriptor of a receive in a ring
 * is non-blocking. Nearly all receives complete with data long before that
 * matters. So weft asks the kernel only about receives that are still in flight
 * at one of these times: their VP has nothing else to do, it is preempted, or
 * it has handed over WF_NONBLOCK_AGES later batches.
 *
 *     r->is_unchecked = true;
 *     wf_nonblock_add(me, &u, r);
 *     ...
 *     if (r->is_unchecked)  // it is complete
 *             wf_nonblock_drop(&u, r);
 *
 * The owner of the VP calls all functions, with in_runtime set and no lock
 * held.
 */
#ifndef WEFT_IO_BACKEND_NONBLOCK_H
#define WEFT_IO_BACKEND_NONBLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"

struct wf_request;
struct wf_thread;

enum {
	WF_NONBLOCK_ROOM = 512,
	WF_NONBLOCK_AGES = 8,
};

struct wf_nonblock {
	/* NULL: the request is complete */
	struct wf_request *rows[WF_NONBLOCK_ROOM];
	/* the indices wrap, their difference does not */
	uint32_t first, next;
	/* values of `next` at the last calls of wf_nonblock_age */
	uint32_t nexts[WF_NONBLOCK_AGES];
	uint32_t nr_ages;
	_Atomic uint32_t nr; /* the owner of the VP writes, any thread reads */
};

/*
 * Adds r. If the table is full, checks the oldest row first. `me` as in
 * wf_ready_woken.
 */
void wf_nonblock_add(struct wf_thread *me, struct wf_nonblock *u,
		     struct wf_request *r);
void wf_nonblock_drop(struct wf_nonblock *u, struct wf_request *r);

/*
 * Checks the requests that have been in the table for WF_NONBLOCK_AGES calls of
 * this function.
 */
void wf_nonblock_age(struct wf_thread *me, struct wf_nonblock *u);
/*
 * Checks the oldest requests, `most` at most. Returns true if the descriptor of
 * at least one is non-blocking: its thread does not wait any longer.
 */
bool wf_nonblock_check_oldest(struct wf_thread *me, struct wf_nonblock *u,
			      uint32_t most);

/*
 * Checks r, which is in no table. Returns true if its descriptor is
 * non-blocking, so that the thread may not wait.
 */
bool wf_nonblock_is_refused(struct wf_request *r);

static inline bool wf_nonblock_any(const struct wf_nonblock *u)
{
	return wf_load_relaxed(&u->nr) != 0;
}

#endif
