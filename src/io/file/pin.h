/* SPDX-License-Identifier: MIT */
/*
 * A pinned file: a wait that stays with its file when the number is closed or
 * replaced. The thread that closes or replaces the number leaves the wait a
 * duplicate. Calls use this that wait for an event and then make a system call
 * again which does not wait.
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
#ifndef WEFT_IO_FILE_PIN_H
#define WEFT_IO_FILE_PIN_H

#include <stdbool.h>

#include "base/list.h"

struct wf_pin {
	struct wf_list link; /* PIN-1; under the bucket's lock */
	int fd;
	/*
	 * A duplicate, or -1. The closing thread sets it, under the bucket's
	 * lock.
	 */
	_Atomic int pinned_fd;
	_Atomic bool is_in_call; /* PIN-2; the waiting thread sets it */
};

/*
 * Begin and end the wait. Neither blocks. The thread stays in the runtime in
 * between.
 */
void wf_pin_begin(struct wf_pin *h);
void wf_pin_end(struct wf_pin *h);

/*
 * Returns the number to use for the file now: the duplicate if there is one,
 * else the original number.
 */
int wf_pin_fd(const struct wf_pin *h);
/*
 * Returns the same number, for a call that does not wait. A thread that closes
 * the number waits until wf_pin_call_end. The caller may do this between
 * wf_pin_begin and wf_pin_end, or without them.
 */
int wf_pin_call_begin(struct wf_pin *h);
void wf_pin_call_end(struct wf_pin *h);

/*
 * Closes the duplicate if a handler is about to run, since the handler may not
 * return. The wait then continues with the number, as when the kernel restarts
 * a call. Call it after wf_pin_end, in the runtime.
 */
void wf_pin_release_for_handler(struct wf_pin *h);

/* Closes the duplicate, if there is one. */
void wf_pin_fini(struct wf_pin *h);

/*
 * The close barrier. The calling thread is about to close or replace the
 * numbers `first` to `last`: waits on their files get duplicates. in_runtime is
 * 0; the caller may yield.
 */
void wf_pin_before_close(unsigned int first, unsigned int last);

void wf_pin_fork_child(void);

#endif
