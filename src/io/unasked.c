/*
 * A ring of rows in the order of their requests, whose ends make holes.
 *
 * UNASKED-1. A row that is not NULL is a request that is under way, whose
 *     is_unasked is set and which names its row.
 * UNASKED-2. first <= next <= first + WF_UNASKED_ROOM; all that is in no row
 *     from first to next is in none.
 * UNASKED-3. A number that has been given up since the call began says nothing
 *     of the file that is waited for. Nothing is asked then: the wait goes on.
 *
 * Rejected: a list through the requests. They lie on the stacks of threads
 * that wait, and each change would touch its neighbours' stacks.
 */
#include "io/unasked.h"

#include "io/descriptor.h"
#include "io/request.h"

static struct wf_request **row(struct wf_unasked *u, uint32_t i)
{
	return &u->rows[i % WF_UNASKED_ROOM];
}

static bool is_still_named(const struct wf_request *r)
{
	return wf_descriptor_uses(r->fd) == r->fd_uses;
}

bool wf_unasked_is_refused(struct wf_request *r)
{
	r->is_unasked = false;
	if (!is_still_named(r) || !wf_descriptor_is_nonblocking(r->fd) ||
	    !is_still_named(r)) /* UNASKED-3 */
		return false;
	/* The next ones need not wait to learn it. */
	wf_descriptor_was_tried(r->fd, false);
	return true;
}

void wf_unasked_drop(struct wf_unasked *u, struct wf_request *r)
{
	r->is_unasked = false;
	*row(u, r->unasked_row) = NULL;
	wf_store_relaxed(&u->nr, wf_load_relaxed(&u->nr) - 1);
}

/* About `most` at most. Returns true if somebody is not to wait. */
static bool ask_until(struct wf_thread *me, struct wf_unasked *u, uint32_t end,
		      uint32_t most)
{
	bool any = false;

	for (; (int32_t)(end - u->first) > 0; u->first++) {
		struct wf_request *r = *row(u, u->first);

		if (r == NULL)
			continue;
		if (most-- == 0)
			break;
		wf_unasked_drop(u, r);
		if (wf_unasked_is_refused(r)) {
			any = true;
			wf_request_refuse(me, r);
		}
	}
	return any;
}

void wf_unasked_add(struct wf_thread *me, struct wf_unasked *u,
		    struct wf_request *r)
{
	if (u->next - u->first == WF_UNASKED_ROOM)
		ask_until(me, u, u->first + 1, 1);
	r->unasked_row = u->next;
	*row(u, u->next++) = r;
	wf_store_relaxed(&u->nr, wf_load_relaxed(&u->nr) + 1);
}

void wf_unasked_age(struct wf_thread *me, struct wf_unasked *u)
{
	uint32_t *then = &u->nexts[u->nr_ages++ % WF_UNASKED_AGES];

	ask_until(me, u, *then, UINT32_MAX);
	*then = u->next;
}

bool wf_unasked_settle(struct wf_thread *me, struct wf_unasked *u,
		       uint32_t most)
{
	return wf_unasked_any(u) && ask_until(me, u, u->next, most);
}
