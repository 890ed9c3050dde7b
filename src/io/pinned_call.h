/* SPDX-License-Identifier: MIT */
/*
 * A call with a pinned file (io/pin.h): it waits, perhaps again and again, goes
 * on after each wait, and stays with the file that it has begun with.
 *
 *     WF_PINNED_CALL struct wf_pinned_call h;
 *
 *     wf_pinned_call_begin(&h, &r, WF_ANY_GENERATION);   r.fd is the number
 *     err = wf_io_run(&r, WF_FOREVER);
 *     n = call(wf_pinned_call_fd(&h), ...);
 */
#ifndef WEFT_IO_PINNED_CALL_H
#define WEFT_IO_PINNED_CALL_H

#include <stddef.h>

#include "io/pin.h"
#include "io/request.h"
#include "libc/cleanup.h"

struct wf_pinned_call {
	struct wf_cleanup cleanup; /* closes the duplicate */
	struct wf_request_scope scope;
	struct wf_pin pin;
	struct wf_request *r;
	bool is_entered;
	uint32_t generation; /* of the number, when the call began */
};

/* Its end comes also when the caller leaves by a jump or by its end. */
#define WF_PINNED_CALL __attribute__((cleanup(wf_pinned_call_end)))

/*
 * r, which has no other scope, runs for the file from now on. generation: that
 * of the number (io/descriptor.h) before the first partial transfer, or
 * WF_ANY_GENERATION if there was none: the file that the number names when the
 * first wait begins.
 */
#define WF_ANY_GENERATION UINT32_MAX

void wf_pinned_call_begin(struct wf_pinned_call *h, struct wf_request *r,
			  uint32_t generation);
void wf_pinned_call_end(struct wf_pinned_call *h);

/*
 * Faults in as much of a buffer as the first partial transfer may move: a page
 * fault that waits in the runtime would hold up the VP. in_runtime 0.
 */
void wf_pinned_call_fault_in(const void *buf, size_t bytes);

/*
 * Pins the file for the first partial transfer, which does not wait: a thread
 * that replaces the number later leaves the file to the rest of the call. In
 * the runtime from the enter, which returns the file's number, until the leave
 * or, without one, until r is run.
 */
int wf_pinned_call_enter(struct wf_pinned_call *h);
void wf_pinned_call_leave(struct wf_pinned_call *h);

/*
 * The number that the file has by now; -1: none, it was closed between two
 * waits.
 */
int wf_pinned_call_fd(const struct wf_pinned_call *h);

#endif
