/* SPDX-License-Identifier: MIT */
/*
 * poll, and the way in which select waits (io/call/select.c). First comes the
 * call that does not wait. If no descriptor is ready, the thread waits in one
 * of these ways:
 *
 * - A few descriptors: a request for each, which is done when an event may have
 *   occurred. The call is then made again, and its answer counts.
 * - Many descriptors: a worker makes the call that waits.
 * - A thread that waits for several descriptors again and again is bound, and
 *   waits in the kernel.
 *
 * A handler ends the call, also one with SA_RESTART.
 *
 * POLL-1. If a thread has just found a socket empty and now polls it, the first
 *     call would most likely find nothing. So the thread does not make it. This
 *     is only a guess: the request finds data that has come since when it is
 *     submitted.
 * POLL-2. If nothing was ready, signals that the call's mask opens are
 *     delivered. A handler then ends the call, also a call that does not wait,
 *     as in the kernel. A descriptor that was ready at that moment is still
 *     ready at the next call.
 * POLL-3. A ring keeps its files open (io/call/address.c). So a socket with an
 *     address is polled by its epoll proxy, or without a ring.
 * POLL-4. A ring ignores a wake for POLLPRI (io_poll_wake). A socket wakes for
 *     POLLIN at the same time; other files do not.
 *
 * Rejected: an epoll set for many descriptors. To fill it and take it down
 * takes four times as long as the kernel's call. It is used when no worker is
 * free. Rejected: an epoll set that a thread keeps for its next calls. If a
 * library closes a number unseen, the set forgets it, and a wait for the next
 * file of that number would not end.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "io/backend/request.h"
#include "io/backend/ring.h"
#include "io/call/address.h"
#include "io/call/many.h"
#include "io/call/poll_call.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "io/call/poll.h"
#include "libc/cleanup.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "signal/sigwait.h"
#include "wait/ufutex.h"

bool wf_poll_is_for_nothing(int n, uint32_t nr_handlers)
{
	return n == -EINTR && wf_self->nr_handlers == nr_handlers;
}

/* Waits until an event may have occurred. Returns 0, -ETIMEDOUT or -Exxx. */
static int wait_few(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		    uint32_t nr_handlers)
{
	struct wf_request r[WF_POLL_FEW];
	uint32_t nr_watched = 0;

	for (nfds_t i = 0; i < nr; i++) {
		if (fds[i].fd < 0)
			continue;
		r[nr_watched++] = (struct wf_request){
			.op = IORING_OP_POLL_ADD,
			.fd = fds[i].fd,
			.op_flags = (uint16_t)fds[i].events,
		};
	}
	return wf_request_run_any(r, nr_watched, deadline_ns, &nr_handlers);
}

/* POLL-1. Returns true once for each receive that found nothing. */
static bool is_known_to_wait(const struct pollfd *fds, nfds_t nr)
{
	struct wf_thread *t = wf_self;

	if (nr != 1 || t->hint == 0 ||
	    !wf_memory_is_readable(fds, sizeof(*fds)) || fds->fd < 0 ||
	    t->hint != wf_io_dry_hint(fds->fd))
		return false;
	t->hint = 0;
	return (fds->events & POLLOUT) == 0;
}

static void leave_many(void *many)
{
	wf_many_end(many);
}

int wf_poll_many(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int err = wf_many_begin(m);

	if (err < 0)
		return err;
	wf_cleanup_begin_own(&cleanup, leave_many, m);
	err = wf_many_wait(m, deadline_ns, nr_handlers);
	wf_cleanup_end(&cleanup);
	wf_many_end(m);
	return err;
}

bool wf_poll_begin_kernel(struct wf_poll_kernel_wait *k, int64_t deadline_ns,
			  uint32_t nr_handlers)
{
	int64_t left_ns = deadline_ns - wf_os_now();

	k->left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	k->timeout = deadline_ns == WF_FOREVER ? NULL : &k->left;
	k->saved_errno = errno;
	errno = EINTR;
	wf_os_set_signal_mask(UINT64_MAX);
	memset(&k->mask, 0, sizeof(k->mask));
	memcpy(&k->mask, &wf_self->sigmask, sizeof(wf_self->sigmask));
	return wf_self->nr_handlers == nr_handlers;
}

int wf_poll_end_kernel(const struct wf_poll_kernel_wait *k, int n,
		       uint32_t nr_handlers)
{
	int err = n < 0 ? -errno : 0;

	wf_os_set_signal_mask(wf_self->sigmask);
	errno = k->saved_errno;
	return wf_poll_is_for_nothing(err, nr_handlers) ? 0 : err;
}

int wf_poll_in_kernel(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	struct wf_poll_kernel_wait k;
	int n = -1;

	if (wf_poll_begin_kernel(&k, deadline_ns, nr_handlers))
		n = wf_real.ppoll((struct pollfd *)fds, nr, k.timeout, &k.mask);
	return wf_poll_end_kernel(&k, n, nr_handlers);
}

bool wf_poll_has_waited(int *err)
{
	if (*err == -ETIMEDOUT || *err == -ERESTART)
		*err = 0;
	return *err == 0 || *err == -EINTR || *err == -ECANCELED;
}

/* Has one of the sockets an address (POLL-3)? */
static bool has_address(const struct pollfd *fds, nfds_t nr)
{
	if (wf_ring_is_refused())
		return false;
	for (nfds_t i = 0; i < nr; i++)
		if (wf_descriptor_has_address(fds[i].fd))
			return true;
	return false;
}

/* Would a ring miss an event that p asks for (POLL-4)? */
static bool is_ignored_by_rings(const struct pollfd *p)
{
	return p->fd >= 0 && (p->events & POLLPRI) != 0 &&
	       ((p->events & (POLLIN | POLLRDNORM | POLLRDBAND)) == 0 ||
		!wf_descriptor_is_socket(p->fd));
}

static bool is_any_ignored_by_rings(const struct pollfd *fds, nfds_t nr)
{
	if (wf_ring_is_refused())
		return false;
	for (nfds_t i = 0; i < nr; i++)
		if (is_ignored_by_rings(&fds[i]))
			return true;
	return false;
}

/*
 * Returns true if an epoll proxy can poll a socket with an address for these
 * events.
 */
static bool are_for_proxy(int events)
{
	return (events & POLLIN) != 0 &&
	       (events & ~(POLLIN | POLLRDNORM | POLLRDHUP)) == 0;
}

/*
 * A request is also done when a peer has closed its half, although poll reports
 * nothing then. So after MOST_WAITS waits of a call there are no more requests.
 */
int wf_poll_few(const struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		uint32_t nr_handlers, uint32_t *nr_waits)
{
	enum { MOST_WAITS = 4, WAITS_BEFORE_DOUBT = 16 };

	if (nr > WF_POLL_FEW || is_any_ignored_by_rings(fds, nr)) /* POLL-4 */
		return -E2BIG;
	++*nr_waits;
	if (has_address(fds, nr)) { /* POLL-3 */
		if (nr > 1 || !are_for_proxy(fds->events))
			return -E2BIG;
		return wf_address_poll(fds->fd, deadline_ns, nr_handlers,
				       *nr_waits % WAITS_BEFORE_DOUBT == 0);
	}
	if (*nr_waits > MOST_WAITS)
		return -E2BIG;
	return wait_few(fds, nr, deadline_ns, nr_handlers);
}

bool wf_poll_has_own_carrier(nfds_t nr)
{
	enum { FEWER = 4, WAITS_BEFORE = 8 };

	if (nr < FEWER)
		return false;
	if (wf_self->nr_large_polls < WAITS_BEFORE) {
		wf_self->nr_large_polls++;
		return false;
	}
	return wf_io_has_few_carriers() && wf_io_bind(true);
}

/*
 * Waits once for any of the descriptors. Returns the call's result; 0: poll
 * again.
 */
static int wait_any(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		    uint32_t nr_handlers, uint32_t *nr_waits)
{
	int n;

	if (wf_poll_has_own_carrier(nr))
		return wf_poll_in_kernel(fds, nr, deadline_ns, nr_handlers);
	n = wf_poll_few(fds, nr, deadline_ns, nr_handlers, nr_waits);
	if (n == -E2BIG)
		n = wf_poll_call_list(fds, nr, deadline_ns, nr_handlers);
	if (n == -ENOSYS)
		n = wf_poll_many(&(struct wf_many){ .fds = fds, .nr = nr },
				 deadline_ns, nr_handlers);
	return n > 0 || wf_poll_has_waited(&n) ?
		       n :
		       wf_poll_in_kernel(fds, nr, deadline_ns, nr_handlers);
}

bool wf_poll_open(const uint64_t *mask, uint32_t nr_handlers)
{
	wf_signal_open_for_wait(mask);
	return mask != NULL && wf_self->nr_handlers != nr_handlers;
}

int wf_poll_close(const uint64_t *mask, uint32_t nr_handlers, int n)
{
	/* signals that only the thread's own mask opens come after the call */
	bool has_handled = wf_self->nr_handlers != nr_handlers;

	wf_signal_close_after_wait(mask);
	return n >= 0 && mask != NULL && has_handled ? -EINTR : n;
}

static int poll_now(struct pollfd *fds, nfds_t nr, uint32_t nr_handlers)
{
	int n = (int)wf_sys(SYS_poll, fds, nr, 0);

	return wf_poll_is_for_nothing(n, nr_handlers) ? 0 : n;
}

/* Waits after a check that found nothing ready. */
static int poll_until(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
		      uint32_t nr_handlers)
{
	uint32_t nr_waits = 0;
	int n = 0;

	while (n == 0 && deadline_ns > wf_os_now()) {
		n = wait_any(fds, nr, deadline_ns, nr_handlers, &nr_waits);
		if (n == 0)
			n = poll_now(fds, nr, nr_handlers);
	}
	return n;
}

int wf_io_poll(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
	       const uint64_t *mask)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n = 0;

	if (mask != NULL || !is_known_to_wait(fds, nr) ||
	    deadline_ns <= wf_os_now())
		n = poll_now(fds, nr, nr_handlers);
	if (n != 0)
		return n; /* POLL-2 */
	n = wf_poll_open(mask, nr_handlers) ?
		    -EINTR :
		    poll_until(fds, nr, deadline_ns, nr_handlers);
	return wf_poll_close(mask, nr_handlers, n);
}
