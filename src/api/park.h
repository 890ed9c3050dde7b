/*
 * Calls that wait by io/, or by libc's own function where the thread cannot
 * park.
 *
 *     WF_API(int, flock, int fd, int operation)
 *     {
 *             return (int)WF_PARK_UNCANCELLED_OR(wf_real.flock(fd, operation),
 *                                                wf_io_flock(fd, operation));
 *     }
 */
#ifndef WEFT_API_PARK_H
#define WEFT_API_PARK_H

#include "api/api.h"
#include "api/cancel.h"
#include "io/io.h"

#define WF_PARK_UNCANCELLED_OR(real, io)                        \
	({                                                      \
		long ret_ = wf_io_can_park() ? (io) : -ENOSYS;  \
		ret_ == -ENOSYS ? (real) : wf_api_result(ret_); \
	})

/* The same of cancellation points. */
#define WF_PARK_OR(real, io) WF_PARK_UNCANCELLED_OR(real, WF_CANCEL_POINT(io))

#endif
