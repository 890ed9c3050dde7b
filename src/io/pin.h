/* SPDX-License-Identifier: MIT */
/*
 * A pinned file: a wait that stays with its file whatever becomes of the
 * number. The thread that closes or replaces the number leaves the wait a
 * duplicate. For calls that are made again, without waiting, when something has
 * happened.
 *
 *     struct wf_pin h = { .fd = fd, .pinned_fd = -1 };
 *
 *     wf_pin_begin(&h);          in the runtime
 *     ...                         a request for wf_pin_fd(&h)
 *     n = call(wf_pin_call_begin(&h), ...);
 *     wf_pin_call_end(&h);
 *     wf_pin_end(&h);            in the runtime
 *     ...                         perhaps all of it once more
 *     wf_pin_fini(&h);
 */
#ifndef WEFT_IO_PIN_H
#define WEFT_IO_PIN_H

#include <stdbool.h>

#include "base/list.h"

struct wf_pin {
	struct wf_list link; /* PIN-1; the bucket's lock */
	int fd;
	_Atomic int pinned_fd; /* a duplicate, or -1; closer, under the lock */
	_Atomic bool is_in_call; /* PIN-2; its thread */
};

/* Neither waits; the thread stays in the runtime in between. */
void wf_pin_begin(struct wf_pin *h);
void wf_pin_end(struct wf_pin *h);

/* The number that the file has by now. */
int wf_pin_fd(const struct wf_pin *h);
/* The same, for a call that does not wait; before the end or outside. */
int wf_pin_call_begin(struct wf_pin *h);
void wf_pin_call_end(struct wf_pin *h);

/*
 * After the end, in the runtime: closes the duplicate if a handler is about to
 * run, which may not return. Then the wait goes on with the number, as when the
 * kernel restarts a call.
 */
void wf_pin_release_for_handler(struct wf_pin *h);

/* Closes the duplicate, if there is one. */
void wf_pin_fini(struct wf_pin *h);

/*
 * The close barrier, before the calling thread closes or replaces the numbers:
 * waits on the files that they name go on. in_runtime 0; may yield.
 */
void wf_pin_before_close(unsigned int first, unsigned int last);

void wf_pin_fork_child(void);

#endif
