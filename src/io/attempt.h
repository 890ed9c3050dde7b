/* SPDX-License-Identifier: MIT */
/*
 * The calls of requests that can be made without waiting, and what they wait
 * for if that fails.
 */
#ifndef WEFT_IO_ATTEMPT_H
#define WEFT_IO_ATTEMPT_H

#include "io/request.h"

/* Can its call be made without waiting? */
bool wf_attempt_serves(const struct wf_request *r);

/* POLLIN, ... */
uint32_t wf_attempt_events(const struct wf_request *r);

/*
 * Is fd, which may be another file's number by now, a file of the call's? Of
 * another it fails at once, and what it waits for might never come.
 */
bool wf_attempt_fits(const struct wf_request *r, int fd);

/* What poll says of a file that is always ready. */
int wf_attempt_always(const struct wf_request *r);

/*
 * One call on fd, of which poll has said revents. The result, -EAGAIN: later.
 * r->nr_bytes counts what has come for MSG_WAITALL. Does not wait.
 */
int wf_attempt(struct wf_request *r, int fd, uint32_t revents);

#endif
