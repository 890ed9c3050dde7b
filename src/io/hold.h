/*
 * Waits that hold on to their file: who closes the number on which one began
 * leaves it a duplicate. For calls that are made again, without waiting, when
 * something has happened.
 *
 *     struct wf_hold h = { .fd = fd, .kept_fd = -1 };
 *
 *     wf_hold_begin(&h);          in the runtime
 *     ...                         a request for wf_hold_fd(&h)
 *     n = call(wf_hold_call_begin(&h), ...);
 *     wf_hold_call_end(&h);
 *     wf_hold_end(&h);            in the runtime
 *     ...                         perhaps all of it once more
 *     wf_hold_fini(&h);
 */
#ifndef WEFT_IO_HOLD_H
#define WEFT_IO_HOLD_H

#include <stdbool.h>

#include "base/list.h"

struct wf_hold {
	struct wf_list link; /* HOLD-1; the bucket's lock */
	int fd;
	_Atomic int kept_fd; /* a duplicate, or -1; closer, under the lock */
	_Atomic bool is_in_call; /* HOLD-2; its thread */
};

/* Neither waits; the thread stays in the runtime in between. */
void wf_hold_begin(struct wf_hold *h);
void wf_hold_end(struct wf_hold *h);

/* What the file's number is by now. */
int wf_hold_fd(const struct wf_hold *h);
/* The same, for a call that does not wait; before the end or outside. */
int wf_hold_call_begin(struct wf_hold *h);
void wf_hold_call_end(struct wf_hold *h);

/*
 * After the end, in the runtime: if a handler is about to run, which may not
 * return, the duplicate is closed. The wait goes on with the number then, as
 * the kernel starts a call again.
 */
void wf_hold_let_go(struct wf_hold *h);

/* Closes the duplicate, if there is one. */
void wf_hold_fini(struct wf_hold *h);

/*
 * Before the numbers are closed or replaced, by whoever is about to: waits for
 * the files that they name go on. in_runtime 0; may yield.
 */
void wf_hold_keep(unsigned int first, unsigned int last);

void wf_hold_fork_child(void);

#endif
