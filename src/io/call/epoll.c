/* SPDX-License-Identifier: MIT */
/*
 * epoll_wait. The thread first makes the call that does not wait. If that finds
 * nothing, a request waits until the set is ready, and the call is made again:
 * its result counts. Any handler ends the wait. The wait is for the set and not
 * for its number, as the kernel's is: it pins the file (io/file/pin.h).
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>

#include "io/backend/request.h"
#include "io/call/poll.h"
#include "io/file/pin.h"
#include "io/io.h"
#include "libc/cleanup.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/sigwait.h"

struct wait {
	struct wf_request_scope scope;
	struct wf_pin pin;
	struct epoll_event *events;
	int max;
	int n; /* the call's result */
};

static void call(struct wait *w)
{
	w->n = (int)wf_sys(SYS_epoll_wait, wf_pin_call_begin(&w->pin),
			   w->events, w->max, 0);
	wf_pin_call_end(&w->pin);
}

static bool has_nothing(const struct wait *w, uint32_t nr_handlers)
{
	return w->n == 0 || wf_poll_is_for_nothing(w->n, nr_handlers);
}

static struct wait *wait_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wait, scope);
}

static void begin(struct wf_request_scope *scope)
{
	wf_pin_begin(&wait_of(scope)->pin);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	struct wait *w = wait_of(scope);

	if (is_done)
		call(w);
	wf_pin_end(&w->pin);
	wf_pin_release_for_handler(&w->pin);
}

/* Waits once. Returns 0 with the call's result in w->n, or -Exxx. */
static int wait_once(struct wait *w, int64_t deadline_ns, uint32_t nr_handlers)
{
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = wf_pin_fd(&w->pin),
		.op_flags = POLLIN,
		.scope = &w->scope,
	};
	int err;

	w->n = 0;
	err = wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
	if (wf_poll_has_waited(&err))
		return err;
	err = wf_poll_in_kernel(&(struct pollfd){ wf_pin_fd(&w->pin), POLLIN,
						  0 },
				1, deadline_ns, nr_handlers);
	if (err == 0)
		call(w);
	return err;
}

/* Waits for events, after a call that found none. Returns the call's result. */
static int wait_until(struct wait *w, int64_t deadline_ns, uint32_t nr_handlers)
{
	do {
		int err = wait_once(w, deadline_ns, nr_handlers);

		if (err < 0)
			return err;
	} while (has_nothing(w, nr_handlers) && deadline_ns > wf_os_now());
	return has_nothing(w, nr_handlers) ? 0 : w->n;
}

static void leave(void *wait)
{
	wf_pin_fini(&((struct wait *)wait)->pin);
}

int wf_io_epoll_wait(int epfd, struct epoll_event *events, int max,
		     int64_t deadline_ns, const uint64_t *mask)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	uint32_t nr_handlers = wf_self->nr_handlers;
	struct wait w = {
		.scope = { .begin = begin, .end = end },
		.pin = { .fd = epfd, .pinned_fd = -1 },
		.events = events,
		.max = max,
	};
	int n;

	call(&w);
	if (!has_nothing(&w, nr_handlers))
		return w.n;
	/* As the kernel, delivers no signals if there is no time to wait. */
	if (deadline_ns <= wf_os_now())
		return 0;
	wf_cleanup_begin_own(&cleanup, leave, &w);
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    wait_until(&w, deadline_ns, nr_handlers);
	wf_signal_close_after_wait(mask);
	wf_cleanup_end(&cleanup);
	wf_pin_fini(&w.pin);
	return n;
}
