/* SPDX-License-Identifier: MIT */
/*
 * A call with a pinned file (io/file/pin.h): it may wait several times and
 * stays with the file that it has begun with. The number may be closed or
 * replaced meanwhile.
 *
 *     WF_PINNED_CALL struct wf_pinned_call h;
 *
 *     wf_pinned_call_begin(&h, &r, WF_ANY_GENERATION);   r.fd is the number
 *     err = wf_io_run(&r, WF_FOREVER);
 *     n = call(wf_pinned_call_fd(&h), ...);
 */
#ifndef WEFT_IO_CALL_PINNED_CALL_H
#define WEFT_IO_CALL_PINNED_CALL_H

#include <stddef.h>

#include "io/backend/request.h"
#include "io/file/pin.h"
#include "libc/cleanup.h"

struct wf_pinned_call {
	struct wf_cleanup cleanup; /* closes the duplicate */
	struct wf_request_scope scope;
	struct wf_pin pin;
	struct wf_request *r;
	bool is_entered;
	uint32_t generation; /* of the number, when the call began */
};

/*
 * Ends the call also when the caller leaves its function by longjmp or by the
 * end of its thread.
 */
#define WF_PINNED_CALL __attribute__((cleanup(wf_pinned_call_end)))

/*
 * From now on r runs with the pinned file. r must have no other scope.
 * generation is that of the number (io/file/descriptor.h) before the first
 * partial transfer. WF_ANY_GENERATION means that there was no transfer: the
 * file is then that which the number names when the first wait begins.
 */
#define WF_ANY_GENERATION UINT32_MAX

void wf_pinned_call_begin(struct wf_pinned_call *h, struct wf_request *r,
			  uint32_t generation);
void wf_pinned_call_end(struct wf_pinned_call *h);

/*
 * Faults in as much of a buffer as the first partial transfer may move. That
 * transfer is made in the runtime, where a page fault that waits would block
 * the VP. in_runtime is 0.
 */
void wf_pinned_call_fault_in(const void *buf, size_t bytes);

/*
 * Pins the file for the first partial transfer, which does not wait. If a
 * thread replaces the number later, the rest of the call still uses the file.
 *
 * wf_pinned_call_enter returns the file's number. The caller is in the runtime
 * from there until wf_pinned_call_leave or, if it does not call that, until it
 * runs r.
 */
int wf_pinned_call_enter(struct wf_pinned_call *h);
void wf_pinned_call_leave(struct wf_pinned_call *h);

/*
 * Returns the number to use for the file now; -1 if the number was closed
 * between two waits and there is no duplicate.
 */
int wf_pinned_call_fd(const struct wf_pinned_call *h);

#endif
