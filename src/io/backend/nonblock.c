/* SPDX-License-Identifier: MIT */
/*
 * The table of a ring's unchecked requests: a circle of rows in the order in
 * which the requests were pushed. A request that completes leaves an empty row.
 * A check asks the kernel whether the descriptor is non-blocking. If it is, the
 * thread stops waiting and its call returns EAGAIN.
 *
 * NONBLOCK-1. A row that is not NULL is a request in flight. Its is_unchecked
 *     is set and it names its row.
 * NONBLOCK-2. first <= next <= first + WF_NONBLOCK_ROOM. Rows outside of first
 *     to next hold no unchecked request.
 * NONBLOCK-3. If the number was closed since the call began, its O_NONBLOCK is
 *     that of another file. The wait then continues without a check.
 *
 * Rejected: a list through the requests. They lie on the stacks of waiting
 * threads, and each change would touch the stacks of two neighbours.
 */
#include "io/backend/nonblock.h"

#include "io/backend/request.h"
#include "io/file/descriptor.h"

static struct wf_request **row(struct wf_nonblock *u, uint32_t i)
{
	return &u->rows[i % WF_NONBLOCK_ROOM];
}

static bool is_still_named(const struct wf_request *r)
{
	return wf_descriptor_generation(r->fd) == r->fd_generation;
}

bool wf_nonblock_is_refused(struct wf_request *r)
{
	r->is_unchecked = false;
	if (!is_still_named(r) || !wf_descriptor_is_nonblocking(r->fd) ||
	    !is_still_named(r)) /* NONBLOCK-3 */
		return false;
	/* Later receives on fd are tried first, so they do not wait. */
	wf_descriptor_was_tried(r->fd, false);
	return true;
}

void wf_nonblock_drop(struct wf_nonblock *u, struct wf_request *r)
{
	r->is_unchecked = false;
	*row(u, r->unchecked_row) = NULL;
	wf_store_relaxed(&u->nr, wf_load_relaxed(&u->nr) - 1);
}

/*
 * Checks the rows up to `end`, `most` requests at most. Returns true if the
 * descriptor of at least one is non-blocking.
 */
static bool ask_until(struct wf_thread *me, struct wf_nonblock *u, uint32_t end,
		      uint32_t most)
{
	bool any = false;

	for (; (int32_t)(end - u->first) > 0; u->first++) {
		struct wf_request *r = *row(u, u->first);

		if (r == NULL)
			continue;
		if (most-- == 0)
			break;
		wf_nonblock_drop(u, r);
		if (wf_nonblock_is_refused(r)) {
			any = true;
			wf_request_refuse(me, r);
		}
	}
	return any;
}

void wf_nonblock_add(struct wf_thread *me, struct wf_nonblock *u,
		     struct wf_request *r)
{
	if (u->next - u->first == WF_NONBLOCK_ROOM)
		ask_until(me, u, u->first + 1, 1);
	r->unchecked_row = u->next;
	*row(u, u->next++) = r;
	wf_store_relaxed(&u->nr, wf_load_relaxed(&u->nr) + 1);
}

void wf_nonblock_age(struct wf_thread *me, struct wf_nonblock *u)
{
	uint32_t *then = &u->nexts[u->nr_ages++ % WF_NONBLOCK_AGES];

	ask_until(me, u, *then, UINT32_MAX);
	*then = u->next;
}

bool wf_nonblock_check_oldest(struct wf_thread *me, struct wf_nonblock *u,
			      uint32_t most)
{
	return wf_nonblock_any(u) && ask_until(me, u, u->next, most);
}
