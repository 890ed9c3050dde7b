/* SPDX-License-Identifier: MIT */
/*
 * Makes a call that waits by a function of io/, or by libc's own where the
 * thread cannot park.
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
#include "api/natively.h"
#include "io/io.h"
#include "sched/runtime.h"
#include "signal/memory.h"

/*
 * The result of expr: 0 or more, or -Exxx. If the thread cannot park or expr is
 * -ENOSYS, which means that nothing has been done, evaluates `real` instead.
 */
#define WF_PARK_EXPR_OR(real, expr)                              \
	({                                                       \
		long ret_ = wf_io_can_park() ? (expr) : -ENOSYS; \
		ret_ == -ENOSYS ? (real) : wf_api_result(ret_);  \
	})

static inline long wf_park_is_over(long n)
{
	wf_runtime_do_work(wf_self);
	return n;
}

#define WF_PARK_UNCANCELLED_OR(real, io) \
	WF_PARK_EXPR_OR(WF_NATIVELY(real), wf_park_is_over(io))

/* WF_PARK_UNCANCELLED_OR for cancellation points. */
#define WF_PARK_OR(real, io) \
	WF_PARK_EXPR_OR(WF_NATIVELY(real), WF_CANCEL_POINT(io))

/*
 * Can a call move so many bytes? If not, the kernel's own call returns the
 * error.
 */
static inline bool wf_park_is_size(size_t bytes)
{
	return (ssize_t)bytes >= 0;
}

/*
 * Can weft read the parts in iov? If not, the kernel returns the error. A
 * single part may be passed to read() or write() instead, so its size has to be
 * valid.
 */
static inline bool wf_park_has_parts(const struct iovec *iov, int nr)
{
	return nr > 0 && nr <= UIO_MAXIOV &&
	       wf_memory_is_readable(iov, (size_t)nr * sizeof(*iov)) &&
	       (nr > 1 || wf_park_is_size(iov->iov_len));
}

/* WF_PARK_OR for calls with an array of parts. */
#define WF_PARK_PARTS_OR(real, iov, nr, io) \
	WF_PARK_OR(real, wf_park_has_parts(iov, nr) ? (io) : -ENOSYS)

#endif
