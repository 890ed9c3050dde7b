/* SPDX-License-Identifier: MIT */
/*
 * A wait for more descriptors than there are requests for: for an epoll set
 * that is made for the call. Such a set forgets a file when the last descriptor
 * of it is closed, where the kernel's poll would go on waiting for it.
 *
 *     struct wf_many m = { .fds = fds, .nr = nr };
 *
 *     err = wf_many_begin(&m);
 *     if (err < 0)
 *             return err;
 *     err = wf_many_wait(&m, deadline_ns, nr_handlers);
 *     wf_many_end(&m);
 */
#ifndef WEFT_IO_MANY_H
#define WEFT_IO_MANY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/select.h>

#include "base/list.h"
#include "io/request.h"

enum { WF_MANY_PINNED = 16 };

struct wf_many {
	/* What is waited for: the caller's memory. */
	const struct pollfd *fds; /* or NULL */
	nfds_t nr;
	fd_set *const *sets; /* three, if not */
	int nr_sets;	     /* numbers in them */

	/* many.c */
	int set; /* -1: it is closed */
	int err; /* why it could not be filled */
	struct wf_request request;
	struct wf_request_scope scope;
	struct wf_list link;
	int ready_fd; /* -1, or why the wait ends */
	uint32_t nr_pinned;
	int numbers[WF_MANY_PINNED]; /* that have been closed, */
	int pinned[WF_MANY_PINNED];  /* and duplicates of what they were */
};

/* What select waits for, of a descriptor that is in some of its sets. */
static inline int wf_many_selected(bool to_read, bool to_write, bool to_except)
{
	return (to_read ? POLLIN | POLLRDHUP : 0) | (to_write ? POLLOUT : 0) |
	       (to_except ? POLLPRI : 0);
}

/* 0 or -Exxx. */
int wf_many_begin(struct wf_many *m);
/*
 * One wait, which the set does not outlive. As wf_request_run_any, or -Exxx: a
 * descriptor cannot be waited for.
 */
int wf_many_wait(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers);
void wf_many_end(struct wf_many *m);

/*
 * Before the numbers are closed or replaced, by whoever is about to.
 * in_runtime 0.
 */
void wf_many_before_close(unsigned int first, unsigned int last);
/* They have been. */
void wf_many_after_close(unsigned int first, unsigned int last);

void wf_many_fork_child(void);

#endif
