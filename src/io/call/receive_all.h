/* SPDX-License-Identifier: MIT */
/*
 * Receives that wait, also for all the bytes that were asked for (MSG_WAITALL).
 *
 *     n = wf_receive_all(fd, buf, bytes, flags, &is_over);
 *     if (!is_over)
 *             n = wf_receive_rest(fd, buf, bytes, flags, n, generation);
 */
#ifndef WEFT_IO_CALL_RECEIVE_ALL_H
#define WEFT_IO_CALL_RECEIVE_ALL_H

#include <stdbool.h>
#include <stddef.h>

#include "io/backend/request.h"

/*
 * Returns true if a receive with these flags may wait. It does not on a
 * non-blocking descriptor. The kernel waits neither for queued errors nor for
 * urgent data.
 */
bool wf_receive_may_wait(int fd, int flags);

/* Returns a request that first waits until there is data and then receives. */
struct wf_request wf_receive_later(int fd, void *buf, size_t bytes, int flags);

/*
 * Receives the bytes that have come, without waiting. Then waits for the
 * missing bytes if the wait can be for the file. *ret_is_over: the result is
 * that of the call. Otherwise the caller continues.
 */
long wf_receive_all(int fd, void *buf, size_t bytes, int flags,
		    bool *ret_is_over);

/*
 * Receives the rest after n bytes of a byte stream. generation is that of fd
 * when the call began. Returns the number of all bytes, or -Exxx.
 */
long wf_receive_rest(int fd, void *buf, size_t bytes, int flags, long n,
		     uint32_t generation);

#endif
