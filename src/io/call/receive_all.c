/* SPDX-License-Identifier: MIT */
/*
 * Receives with MSG_WAITALL, part by part: a request waits until the socket is
 * readable, then a call receives without waiting. An error that comes after the
 * first bytes belongs to the next call. A ring that waits by the receive itself
 * would take that error.
 *
 * The file is pinned from the first part on, so that all parts come from one
 * file.
 */
#include "io/call/receive_all.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "io/call/pinned_call.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

bool wf_receive_may_wait(int fd, int flags)
{
	return (flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)) == 0 &&
	       !wf_descriptor_is_nonblocking(fd);
}

struct wf_request wf_receive_later(int fd, void *buf, size_t bytes, int flags)
{
	return (struct wf_request){
		.op = IORING_OP_RECV,
		.ioprio = IORING_RECVSEND_POLL_FIRST,
		.fd = fd,
		.addr = (uintptr_t)buf,
		.len = (uint32_t)(bytes < WF_IO_MOST_BYTES ? bytes :
							     WF_IO_MOST_BYTES),
		.op_flags = (uint32_t)flags,
	};
}

/*
 * Receives the bytes that have come, without waiting. *ret_is_end: the kernel
 * would wait for no more of the byte stream, because descriptors were sent with
 * these bytes. The descriptors are lost, as the call has no room for them; the
 * kernel reports that by MSG_CTRUNC.
 */
static long receive_part(int fd, void *buf, size_t bytes, int flags,
			 bool *ret_is_end)
{
	struct iovec iov = { buf, bytes < WF_IO_MOST_BYTES ? bytes :
							     WF_IO_MOST_BYTES };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	long n = wf_sys(SYS_recvmsg, fd, &msg, flags | MSG_DONTWAIT);

	*ret_is_end = n > 0 && (msg.msg_flags & MSG_CTRUNC) != 0 &&
		      wf_descriptor_is_unix(fd);
	return n;
}

/*
 * Receives through libc. A signal of weft's ends the call early, and the thread
 * repeats it. A handler of the program's and the time limit end the receive.
 */
static WF_COLD long recv_by_libc(int fd, char *buf, size_t bytes, int flags,
				 int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	size_t done = 0;
	long n;

	do {
		n = wf_io_result(
			wf_real.recv(fd, buf + done, bytes - done, flags));
		if (n > 0)
			done += (size_t)n;
	} while (n > 0 && done < bytes && wf_self->nr_handlers == nr_handlers &&
		 !wf_io_is_over(deadline_ns) && !wf_io_has_error(fd));
	return done > 0 ? (long)done : n;
}

/* Returns true if the next byte follows urgent data. */
static bool is_at_mark(int fd)
{
	int at_mark = 0;

	return wf_sys(SYS_ioctl, fd, SIOCATMARK, &at_mark) == 0 && at_mark != 0;
}

static bool has_data(int fd)
{
	int bytes = 0;

	return wf_sys(SYS_ioctl, fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/*
 * Waits for the next part and receives it. Returns 0 if the receive is over.
 * *ret_is_end: it is over after this part.
 */
static long recv_more(struct wf_pinned_call *h, char *buf, size_t bytes,
		      int flags, int64_t deadline_ns, uint32_t *nr_handlers,
		      bool is_first, bool *ret_is_end)
{
	long n;

	if (!is_first && is_at_mark(wf_pinned_call_fd(h)))
		return 0;
	n = wf_io_run_partial(h->r, deadline_ns, is_first, nr_handlers);
	if (n < 0 && n != -ENOSYS)
		return n;
	if (!is_first && (is_at_mark(wf_pinned_call_fd(h)) ||
			  (wf_io_has_error(wf_pinned_call_fd(h)) &&
			   !has_data(wf_pinned_call_fd(h)))))
		return 0;
	return n == -ENOSYS ? recv_by_libc(wf_pinned_call_fd(h), buf, bytes,
					   flags, deadline_ns) :
			      receive_part(wf_pinned_call_fd(h), buf, bytes,
					   flags, ret_is_end);
}

/*
 * Waits for the rest by the receive itself. This is for a socket that queues
 * reports: poll reports each of them as an error.
 */
static long recv_rest_at_once(int fd, char *buf, size_t bytes, int flags,
			      long n, uint32_t generation)
{
	struct wf_request r =
		wf_receive_later(fd, buf + n, bytes - (size_t)n, flags);
	int64_t deadline_ns = wf_descriptor_deadline(fd, SO_RCVTIMEO);
	uint32_t nr_handlers = wf_self->nr_handlers;
	WF_PINNED_CALL struct wf_pinned_call pinned;
	long more;

	wf_pinned_call_begin(&pinned, &r, generation);
	more = wf_io_run_partial(&r, deadline_ns, n == 0, &nr_handlers);
	if (more == -ENOSYS && n > 0)
		more = recv_by_libc(wf_pinned_call_fd(&pinned), buf + n, r.len,
				    flags, deadline_ns);
	return more > 0 ? n + more : n > 0 ? n : more;
}

/*
 * Receives the rest after n bytes. h belongs to a request that waits until the
 * socket is readable.
 */
static long receive_rest(struct wf_pinned_call *h, char *buf, size_t bytes,
			 int flags, int64_t deadline_ns, long n)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	bool is_end = false;
	long more;

	do {
		bool is_first = n == 0;

		more = recv_more(h, buf + n, bytes - (size_t)n, flags,
				 deadline_ns, &nr_handlers, is_first, &is_end);
		n += more > 0 ? more : 0;
		if (more == -EAGAIN && !wf_io_is_over(deadline_ns) &&
		    (is_first || wf_self->nr_handlers == nr_handlers))
			more = 1;
	} while (more > 0 && !is_end && (size_t)n < bytes);
	return n > 0 ? n : more;
}

long wf_receive_rest(int fd, void *buf, size_t bytes, int flags, long n,
		     uint32_t generation)
{
	struct wf_request ready = wf_io_readiness(fd, POLLIN);
	WF_PINNED_CALL struct wf_pinned_call pinned = { .pin = { .pinned_fd =
									 -1 } };
	int64_t deadline_ns;

	if (wf_descriptor_queues_reports(fd))
		return recv_rest_at_once(fd, buf, bytes, flags, n, generation);
	deadline_ns = wf_descriptor_deadline(fd, SO_RCVTIMEO);
	wf_pinned_call_begin(&pinned, &ready, generation);
	return receive_rest(&pinned, buf, bytes, flags, deadline_ns, n);
}

long wf_receive_all(int fd, void *buf, size_t bytes, int flags,
		    bool *ret_is_over)
{
	struct wf_request ready = wf_io_readiness(fd, POLLIN);
	WF_PINNED_CALL struct wf_pinned_call pinned;
	int now;
	long n;

	wf_pinned_call_fault_in(buf, bytes);
	wf_pinned_call_begin(&pinned, &ready, WF_ANY_GENERATION);
	now = wf_pinned_call_enter(&pinned);
	n = receive_part(now, buf, bytes, flags, ret_is_over);
	if (n <= 0 || (size_t)n >= bytes) {
		*ret_is_over = n != -EAGAIN;
	} else if (!*ret_is_over && wf_descriptor_is_byte_stream(now) &&
		   wf_receive_may_wait(now, flags) &&
		   !wf_descriptor_queues_reports(now)) {
		*ret_is_over = true;
		return receive_rest(&pinned, buf, bytes, flags,
				    wf_descriptor_deadline(now, SO_RCVTIMEO),
				    n);
	}
	wf_pinned_call_leave(&pinned);
	return n;
}

long wf_io_go_on_receiving(const struct wf_io_begun *b, void *buf, size_t bytes,
			   int flags, long n)
{
	if (!wf_io_is_cut_short(b, bytes, n) ||
	    (flags & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL ||
	    !wf_receive_may_wait(b->fd, flags) ||
	    !wf_descriptor_is_byte_stream(b->fd) ||
	    wf_descriptor_deadline(b->fd, SO_RCVTIMEO) != WF_FOREVER)
		return n;
	return wf_receive_rest(b->fd, buf, bytes, flags, n, b->generation);
}
