/* SPDX-License-Identifier: MIT */
/*
 * Waits in the kernel, by libc's own functions, of threads with a kernel thread
 * of their own. A signal of weft's own, which is not for the program, ends
 * those that no handler restarts (signal(7)): they are made again.
 *
 *     n = WF_NATIVELY(wf_real.recv(fd, buf, bytes, flags));
 *
 * The limit of a socket begins anew then, as when the kernel restarts a call.
 */
#ifndef WEFT_API_NATIVELY_H
#define WEFT_API_NATIVELY_H

#include <errno.h>

#include "base/self.h"
#include "io/poll.h"
#include "os/clock.h"
#include "sched/thread.h"
#include "wait/ufutex.h"

static inline uint32_t wf_natively_handlers(void)
{
	return wf_self != NULL ? wf_self->nr_handlers : 0;
}

/* Has the call ended so though none of the program's handlers has run? */
static inline bool wf_natively_is_for_nothing(int err, uint32_t nr_handlers)
{
	return wf_self != NULL && wf_self->kind == WF_THREAD_BOUND &&
	       wf_poll_is_for_nothing(err, nr_handlers);
}

/* The same of a result of libc's. */
static inline bool wf_natively_was_for_nothing(long n, uint32_t nr_handlers)
{
	return n == -1 && wf_natively_is_for_nothing(-errno, nr_handlers);
}

/* The time left till the deadline, in *ret_left; NULL: for ever. */
static inline const struct timespec *wf_natively_left(int64_t deadline_ns,
						      struct timespec *ret_left)
{
	int64_t left_ns = deadline_ns - wf_os_now();

	*ret_left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	return deadline_ns == WF_FOREVER ? NULL : ret_left;
}

#define WF_NATIVELY(call)                                           \
	({                                                          \
		uint32_t handlers_ = wf_natively_handlers();        \
		long n_;                                            \
		do                                                  \
			n_ = (call);                                \
		while (wf_natively_was_for_nothing(n_, handlers_)); \
		n_;                                                 \
	})

#endif
