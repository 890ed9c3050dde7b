/* SPDX-License-Identifier: MIT */
/*
 * The thread hands poll or select to a worker as a system call and parks. If a
 * handler, or a cancellation, ends the wait, the request is given up and a
 * signal ends the worker's call.
 *
 * POLL_CALL-1. The kernel measures the time limit and leaves the remaining time
 *     in the timespec. So a worker can repeat a call that was interrupted for
 *     nothing.
 * POLL_CALL-2. About half of the workers may be in such a call. An epoll set
 *     can serve a poll as well, and other calls have only the workers. nr_calls
 *     is changed in the runtime, so that no handler leaves by a jump in
 *     between.
 * POLL_CALL-3. The program's signal mask is the thread's. The worker blocks all
 *     signals. Before the thread runs a handler, the worker's call is ended.
 */
#include "io/call/poll_call.h"

#include <errno.h>

#include "base/atomic.h"
#include "io/backend/call.h"
#include "io/backend/request.h"
#include "io/call/poll.h"
#include "os/clock.h"
#include "os/sys.h"
#include "wait/ufutex.h"

enum { MOST_CALLS = 63 }; /* POLL_CALL-2 */

static _Atomic uint32_t nr_calls;

static void begin(struct wf_request_scope *scope)
{
	atomic_fetch_add(&nr_calls, 1);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	atomic_fetch_sub(&nr_calls, 1);
}

/* Runs c with *left as its timeout. */
static int run(struct wf_call *c, struct timespec *left, int64_t deadline_ns,
	       uint32_t nr_handlers)
{
	struct wf_request_scope scope = { .begin = begin, .end = end };
	struct wf_request r = {
		.op = WF_REQUEST_OP_CALL,
		.fd = -1,
		.addr = (uintptr_t)c,
		.avoids_ring = true,
		.scope = &scope,
	};
	int64_t left_ns = deadline_ns - wf_os_now();
	int err;

	if (wf_load_relaxed(&nr_calls) >= MOST_CALLS)
		return -ENOSYS;
	*left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	c->args[c->nr == SYS_ppoll ? 2 : 4] =
		deadline_ns == WF_FOREVER ? 0 : (long)left; /* POLL_CALL-1 */
	err = wf_request_run_any(&r, 1, WF_FOREVER, &nr_handlers);
	/* EPERM: a seccomp filter forbids this system call, but perhaps not the
	 * one that the program makes. */
	if (err == 0)
		return r.result == -EPERM ? -ENOSYS : r.result;
	return wf_poll_has_waited(&err) ? err : -ENOSYS;
}

int wf_poll_call_list(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	struct timespec left;

	return run(WF_CALL(SYS_ppoll, (long)fds, (long)nr), &left, deadline_ns,
		   nr_handlers);
}

int wf_poll_call_sets(int nr, char *const sets[3], int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	struct timespec left;

	return run(WF_CALL(SYS_pselect6, nr, (long)sets[0], (long)sets[1],
			   (long)sets[2]),
		   &left, deadline_ns, nr_handlers);
}

void wf_poll_call_fork_child(void)
{
	wf_store_relaxed(&nr_calls, 0);
}
