/* SPDX-License-Identifier: MIT */
/*
 * Makes libc's own call for a thread that waits in the kernel: a bound thread,
 * or a caller that weft did not make. A signal that weft sends for itself can
 * end a wait that the kernel never restarts (signal(7)). The macro then makes
 * the call again.
 *
 *     n = WF_NATIVELY(wf_real.recv(fd, buf, bytes, flags));
 *
 * A socket's time limit then begins anew, as when the kernel restarts a call.
 */
#ifndef WEFT_API_NATIVELY_H
#define WEFT_API_NATIVELY_H

#include <errno.h>

#include "base/self.h"
#include "io/call/poll.h"
#include "os/clock.h"
#include "sched/thread.h"
#include "wait/ufutex.h"

static inline uint32_t wf_natively_handlers(void)
{
	return wf_self != NULL ? wf_self->nr_handlers : 0;
}

/*
 * Did the call end with EINTR although no handler of the program has run since
 * nr_handlers was read? err is 0 or -Exxx.
 */
static inline bool wf_natively_is_for_nothing(int err, uint32_t nr_handlers)
{
	return wf_self != NULL && wf_self->kind == WF_THREAD_BOUND &&
	       wf_poll_is_for_nothing(err, nr_handlers);
}

/* wf_natively_is_for_nothing for n, a result of libc's function, and errno. */
static inline bool wf_natively_was_for_nothing(long n, uint32_t nr_handlers)
{
	return n == -1 && wf_natively_is_for_nothing(-errno, nr_handlers);
}

/*
 * The time until the deadline, in *ret_left; 0 if it has passed. Returns
 * ret_left, or NULL without a deadline.
 */
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
