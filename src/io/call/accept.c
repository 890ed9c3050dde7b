/* SPDX-License-Identifier: MIT */
/*
 * accept and connect. Neither system call has a flag not to wait, but a ring
 * can try to accept without waiting, and it carries out both as requests.
 * Without a ring, the watcher polls before a worker accepts. A worker that
 * connects is given up after a while, and the thread waits by poll until the
 * connection is made.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "io/backend/ring.h"
#include "io/call/address.h"
#include "io/call/pinned_call.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

/*
 * Is the accept left to libc's function? That one reports unknown flags.
 * Without a ring an accept is made only when poll reports a connection, so on
 * anything but a listening socket it would wait for ever.
 */
static bool is_refused(int fd, int flags)
{
	int listens = 0;
	socklen_t bytes = sizeof(listens);
	long err;

	if ((flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0)
		return true;
	if (!wf_ring_is_refused())
		return false;
	err = wf_sys(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
		     &bytes);
	return err == -ENOTSOCK || (err == 0 && !listens);
}

int wf_io_accept(int fd, struct sockaddr *addr, socklen_t *addr_bytes,
		 int flags)
{
	struct wf_request r = {
		.op = IORING_OP_ACCEPT,
		.fd = fd,
		.addr = (uintptr_t)addr,
		.off = (uintptr_t)addr_bytes,
		.op_flags = (uint32_t)flags,
	};

	if (wf_descriptor_is_nonblocking(fd))
		return (int)wf_sys(SYS_accept4, fd, addr, addr_bytes, flags);
	if (is_refused(fd, flags))
		return -ENOSYS;
	if (!wf_descriptor_expects_wait(fd)) {
		int n = wf_address_try_accept(&r);

		wf_descriptor_was_tried(fd, n == -EAGAIN);
		if (n != -EAGAIN)
			return n;
	}
	return wf_address_run(&r, wf_descriptor_deadline(fd, SO_RCVTIMEO));
}

/*
 * Waits until the connection is made, after the request for it was given up.
 * has_begun: another call had begun the connection. 0 or -Exxx.
 */
static int wait_connected(struct wf_pinned_call *h, int64_t deadline,
			  bool has_begun)
{
	struct wf_request *connects = h->r;
	struct wf_request ready = wf_io_readiness(h->pin.fd, POLLOUT);
	socklen_t bytes = sizeof(int);
	int err, result = 0;

	ready.scope = &h->scope;
	h->r = &ready;
	err = wf_io_run(&ready, deadline);
	h->r = connects;
	if (err == -EAGAIN)
		return has_begun ? -EALREADY : -EINPROGRESS;
	if (err < 0)
		return err;
	err = (int)wf_sys(SYS_getsockopt, wf_pinned_call_fd(h), SOL_SOCKET,
			  SO_ERROR, &result, &bytes);
	return err < 0 ? err : -result;
}

/*
 * The deadline of the request. A worker is given up after 20 ms, so that it can
 * serve other requests; the thread waits for the rest by poll. A connect to a
 * Unix socket has no such limit: it waits in the listener's queue, and a new
 * connect would start at the end of that queue.
 */
static int64_t deadline_of_call(int fd, int64_t deadline)
{
	const int64_t most_ns = 20 * WF_NS_PER_MS;
	int64_t until;

	if (!wf_ring_is_refused() ||
	    wf_descriptor_option(fd, SO_DOMAIN, AF_UNIX) == AF_UNIX)
		return deadline;
	until = wf_os_now() + most_ns;
	return until < deadline ? until : deadline;
}

/*
 * Has an earlier call, or another thread's, begun to connect the socket?
 * EALREADY would show that, but a worker that is given up does not report it.
 */
static bool is_connecting(int fd)
{
	uint8_t state = TCP_CLOSE;
	socklen_t bytes = sizeof(state);

	wf_sys(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &state, &bytes);
	return state == TCP_SYN_SENT;
}

int wf_io_connect(int fd, const struct sockaddr *addr, socklen_t addr_bytes)
{
	struct wf_request r = {
		.op = IORING_OP_CONNECT,
		.fd = fd,
		.addr = (uintptr_t)addr,
		.off = addr_bytes,
	};
	uint32_t nr_handlers = wf_self->nr_handlers;
	WF_PINNED_CALL struct wf_pinned_call h = { .pin.pinned_fd = -1 };
	int64_t deadline, call_deadline;
	bool is_local, has_begun, was_connecting;
	int n;

	if (wf_descriptor_is_nonblocking(fd))
		return (int)wf_sys(SYS_connect, fd, addr, addr_bytes);
	wf_pinned_call_begin(&h, &r, wf_descriptor_count_generations(fd));
	deadline = wf_descriptor_deadline(fd, SO_SNDTIMEO);
	was_connecting = deadline != WF_FOREVER && wf_ring_is_refused() &&
			 is_connecting(fd);
	for (;;) {
		call_deadline = deadline_of_call(fd, deadline);
		n = wf_request_run(&r, call_deadline);
		/* An earlier call, or another thread's, has begun the
		 * connection: a ring does not wait for that. */
		has_begun = n == -EALREADY;
		if (!has_begun && n != -ERESTART &&
		    (n != -ETIMEDOUT || r.result == n))
			return n;
		/* The kernel has read the address, so it is readable. A connect
		 * to a Unix socket that waits in the listener's queue has not
		 * begun. */
		is_local = addr->sa_family == AF_UNIX;
		if (n == -ETIMEDOUT && call_deadline == deadline)
			return is_local ? -EAGAIN : -EINPROGRESS;
		if (deadline != WF_FOREVER &&
		    wf_self->nr_handlers != nr_handlers)
			return -EINTR;
		if (is_local)
			continue;
		n = wait_connected(&h, deadline, has_begun || was_connecting);
		fd = wf_pinned_call_fd(&h);
		if (n == 0 &&
		    wf_descriptor_is_connected(fd)) /* connect must report it */
			wf_sys(SYS_connect, fd, addr, addr_bytes);
		else if (n == 0 && has_begun) /* the other call got the error */
			n = -ECONNABORTED;
		else if (n == 0) /* the worker was lost before its call */
			continue;
		return n;
	}
}
