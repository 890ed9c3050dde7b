/* SPDX-License-Identifier: MIT */
/*
 * Carries out a request that waits for a ready descriptor in two steps: a poll,
 * then a call that does not wait. The readiness watcher and waits by an epoll
 * proxy use these functions.
 *
 *     if (wf_attempt_serves(r))
 *             ...                 poll fd for wf_attempt_events(r): revents
 *     n = wf_attempt(r, fd, revents);
 */
#ifndef WEFT_IO_BACKEND_ATTEMPT_H
#define WEFT_IO_BACKEND_ATTEMPT_H

#include "io/backend/request.h"

/*
 * Does r wait only for a descriptor to get ready? An accept does, too, but
 * wf_attempt does not make it: a worker or a ring does.
 */
bool wf_attempt_serves(const struct wf_request *r);

/* The poll events that r waits for: POLLIN, ... */
uint32_t wf_attempt_events(const struct wf_request *r);

/*
 * Is fd, which may be another file's number by now, of a kind that the call
 * works on? On another kind the call fails at once, and a wait for events might
 * never end.
 */
bool wf_attempt_fits(const struct wf_request *r, int fd);

/* Returns the result of a poll request for a file that is always ready. */
int wf_attempt_always(const struct wf_request *r);

/*
 * Makes the call of r, which is no accept, on fd without waiting. poll has
 * reported revents for fd. Returns the result, or -EAGAIN: try again later.
 * With MSG_WAITALL r->nr_bytes counts the bytes that have been received.
 */
int wf_attempt(struct wf_request *r, int fd, uint32_t revents);

#endif
