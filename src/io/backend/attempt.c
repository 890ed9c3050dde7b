/* SPDX-License-Identifier: MIT */
/*
 * The system call of each request that waits for a descriptor, with a flag not
 * to wait. Without a ring the readiness watcher makes these calls when poll
 * reports the descriptor ready (io/backend/watcher.c). io/call/address.c makes
 * them after a poll of an epoll proxy. A receive with MSG_WAITALL takes several
 * calls: the request counts the bytes that have come.
 */
#include "io/backend/attempt.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "io/backend/worker.h"
#include "io/file/descriptor.h"
#include "os/sys.h"

enum { POLL_BITS = 0xffff };

uint32_t wf_attempt_events(const struct wf_request *r)
{
	if (r->op == IORING_OP_POLL_ADD)
		return r->op_flags & POLL_BITS;
	return r->op == IORING_OP_SENDMSG ? POLLOUT : POLLIN;
}

int wf_attempt_always(const struct wf_request *r)
{
	return (int)(wf_attempt_events(r) &
		     (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM));
}

/*
 * Receives. With MSG_WAITALL it returns -EAGAIN until all bytes have come, or
 * no more will.
 */
static int receive(struct wf_request *r, int fd)
{
	uint32_t done = (uint32_t)r->nr_bytes;
	int n = (int)wf_sys(SYS_recvfrom, fd, r->addr + done, r->len - done,
			    r->op_flags | MSG_DONTWAIT);

	if ((r->op_flags & MSG_WAITALL) == 0 || n < 0)
		return n;
	r->nr_bytes += n;
	if (n == 0 || (uint32_t)r->nr_bytes == r->len ||
	    !wf_descriptor_is_byte_stream(fd))
		return r->nr_bytes;
	return -EAGAIN;
}

int wf_attempt(struct wf_request *r, int fd, uint32_t revents)
{
	switch (r->op) {
	case IORING_OP_POLL_ADD:
		return (int)(revents &
			     (wf_attempt_events(r) | POLLERR | POLLHUP));
	case IORING_OP_RECV:
		return receive(r, fd);
	case IORING_OP_RECVMSG:
		return (int)wf_sys(SYS_recvmsg, fd, r->addr,
				   r->op_flags | MSG_DONTWAIT);
	case IORING_OP_SENDMSG:
		return (int)wf_sys(SYS_sendmsg, fd, r->addr,
				   r->op_flags | MSG_DONTWAIT | MSG_NOSIGNAL);
	default: /* IORING_OP_READV */
		return (int)wf_sys(SYS_preadv2, fd, r->addr, r->len, -1L, -1L,
				   RWF_NOWAIT);
	}
}

bool wf_attempt_fits(const struct wf_request *r, int fd)
{
	switch (r->op) {
	case IORING_OP_ACCEPT:
		return wf_descriptor_option(fd, SO_ACCEPTCONN, 0) != 0;
	case IORING_OP_RECV:
	case IORING_OP_RECVMSG:
	case IORING_OP_SENDMSG:
		return wf_descriptor_option(fd, SO_TYPE, 0) != 0;
	default:
		return true;
	}
}

bool wf_attempt_serves(const struct wf_request *r)
{
	switch (r->op) {
	case IORING_OP_POLL_ADD:
	case IORING_OP_RECV:
	case IORING_OP_SENDMSG:
	case IORING_OP_ACCEPT:
		return true;
	case IORING_OP_READV:
		return r->off == UINT64_MAX; /* a read from a stream */
	case IORING_OP_RECVMSG:
		return !wf_worker_handles(r);
	default:
		return false;
	}
}
