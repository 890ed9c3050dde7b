/* SPDX-License-Identifier: MIT */
/*
 * Calls that may block, made by a worker. wf_call_run wraps the call into a
 * request that no ring carries out (io/backend/worker.h). A call that only a
 * disk may hold up goes to a worker if the last one on its descriptor was slow
 * (io/file/descriptor.h). A worker measures its calls, too, so a descriptor
 * that gets quick again goes back to plain calls.
 */
#include "io/backend/call.h"

#include <errno.h>

#include "io/backend/request.h"
#include "io/file/descriptor.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

long wf_call_run(struct wf_call *c, enum wf_call_kind kind, int64_t deadline_ns)
{
	struct wf_request r = {
		.op = WF_REQUEST_OP_CALL,
		.fd = -1,
		.addr = (uintptr_t)c,
		.avoids_ring = true,
	};
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	do {
		n = wf_request_run(&r, deadline_ns);
	} while (n == -ERESTART && (kind == WF_CALL_RESTARTS ||
				    wf_self->nr_handlers == nr_handlers));
	if (n == -ERESTART)
		return -EINTR;
	/* SIGPIPE or SIGXFSZ comes with these errors. The kernel has sent it to
	 * the worker, which blocks it. The caller makes the call again, to get
	 * the signal. */
	return n == -EPIPE || n == -EFBIG ? wf_call_make(c) : n;
}

long wf_call_wait(struct wf_call *c)
{
	return wf_call_run(c, WF_CALL_RESTARTS, WF_FOREVER);
}

/*
 * Makes a call on a descriptor that was quick so far. The coarse clock costs a
 * fifth of the exact one and advances only with the kernel's ticks. If a tick
 * comes during the call, the call is in doubt, and the next one is measured. So
 * weft notices slow calls after they have taken one tick in all, on average.
 */
static long make_as_ever(int fd, struct wf_call *c)
{
	int64_t begin_ns = wf_os_clock(CLOCK_MONOTONIC_COARSE);
	long n = wf_call_make_untimed(c);

	if (WF_UNLIKELY(wf_os_clock(CLOCK_MONOTONIC_COARSE) != begin_ns))
		wf_descriptor_doubt(fd);
	return n;
}

long wf_call_on(int fd, struct wf_call *c, bool is_slow)
{
	long n;

	if (wf_descriptor_is_surely_quick(fd))
		return make_as_ever(fd, c);
	if (wf_descriptor_is_slow(fd, is_slow))
		n = wf_call_wait(c);
	else
		n = wf_call_make(c);
	if (n >= 0)
		wf_descriptor_set_slow(fd, c->ns > c->quick_ns);
	return n;
}
