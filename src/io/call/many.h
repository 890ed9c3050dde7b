/* SPDX-License-Identifier: MIT */
/*
 * A wait for more descriptors than a call makes requests for: the wait is for
 * an epoll set that is made for the call. A set forgets a file when the file's
 * last descriptor is closed, but the kernel's poll would still wait for the
 * file. So this module keeps a duplicate of each descriptor that is closed
 * meanwhile.
 *
 *     struct wf_many m = { .fds = fds, .nr = nr };
 *
 *     err = wf_many_begin(&m);
 *     if (err < 0)
 *             return err;
 *     err = wf_many_wait(&m, deadline_ns, nr_handlers);
 *     wf_many_end(&m);
 */
#ifndef WEFT_IO_CALL_MANY_H
#define WEFT_IO_CALL_MANY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/select.h>

#include "base/list.h"
#include "io/backend/request.h"

enum { WF_MANY_PINNED = 16 };

struct wf_many {
	/* The descriptors to wait for, in the caller's memory. */
	const struct pollfd *fds; /* or NULL: see sets */
	nfds_t nr;
	fd_set *const *sets; /* three; used if fds is NULL */
	int nr_sets;	     /* descriptors in each */

	/* many.c */
	int set; /* -1: closed */
	int err; /* -Exxx: the set could not be filled */
	struct wf_request request;
	struct wf_request_scope scope;
	struct wf_list link;
	int ready_fd; /* -1, or an eventfd that ends the wait */
	uint32_t nr_pinned;
	int numbers[WF_MANY_PINNED]; /* closed meanwhile */
	int pinned[WF_MANY_PINNED];  /* duplicates of their files, or -1 */
};

/* The poll events that select waits for on a descriptor in these sets. */
static inline int wf_many_selected(bool to_read, bool to_write, bool to_except)
{
	return (to_read ? POLLIN | POLLRDHUP : 0) | (to_write ? POLLOUT : 0) |
	       (to_except ? POLLPRI : 0);
}

/* Makes the set. 0 or -Exxx. */
int wf_many_begin(struct wf_many *m);
/*
 * Waits once; the set is closed at the end of the wait. Returns as
 * wf_request_run_any, or -Exxx: a descriptor cannot be waited for.
 */
int wf_many_wait(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers);
/* Closes the set and the duplicates. */
void wf_many_end(struct wf_many *m);

/*
 * The closing thread calls this before it closes or replaces the numbers. The
 * caller has in_runtime 0.
 */
void wf_many_before_close(unsigned int first, unsigned int last);
/* The closing thread calls this after that. The caller has in_runtime 0. */
void wf_many_after_close(unsigned int first, unsigned int last);

void wf_many_fork_child(void);

#endif
