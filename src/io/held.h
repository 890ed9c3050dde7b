/*
 * A call on a descriptor that waits, perhaps again and again, and goes on after
 * each wait: it stays with the file that it has begun with, whatever becomes of
 * the number meanwhile.
 *
 *     WF_HELD struct wf_held h;
 *
 *     wf_held_begin(&h, &r, WF_HELD_ANY_USE);         r.fd is the number
 *     err = wf_io_run(&r, WF_FOREVER);
 *     n = call(wf_held_fd(&h), ...);
 */
#ifndef WEFT_IO_HELD_H
#define WEFT_IO_HELD_H

#include <stddef.h>

#include "io/hold.h"
#include "io/request.h"
#include "libc/cleanup.h"

struct wf_held {
	struct wf_cleanup cleanup; /* closes the duplicate */
	struct wf_request_scope scope;
	struct wf_hold hold;
	struct wf_request *r;
	bool is_entered;
	uint32_t uses; /* of the number, when the call began on its file */
};

/* Its end comes also when the caller leaves by a jump or by its end. */
#define WF_HELD __attribute__((cleanup(wf_held_end)))

/*
 * r, which has no other scope, is run for the file from now on. uses: those of
 * the number (io/descriptor.h) before the call's first part was done; none has
 * been: WF_HELD_ANY_USE, whatever it names when the first wait begins.
 */
#define WF_HELD_ANY_USE UINT32_MAX

void wf_held_begin(struct wf_held *h, struct wf_request *r, uint32_t uses);
void wf_held_end(struct wf_held *h);

/*
 * Brings in what the first part may move of a buffer: a page that has to be
 * waited for in the runtime would hold up the VP. in_runtime 0.
 */
void wf_held_bring(const void *buf, size_t bytes);

/*
 * Holds the file for the call's first part, which does not wait: whoever
 * replaces the number after that leaves it to the rest. In the runtime from the
 * enter, which returns the file's number for that, until the leave or, without
 * one, until r is run.
 */
int wf_held_enter(struct wf_held *h);
void wf_held_leave(struct wf_held *h);

/*
 * What the file's number is by now; -1: it has none, for that was closed
 * between two waits.
 */
int wf_held_fd(const struct wf_held *h);

#endif
