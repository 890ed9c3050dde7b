/* SPDX-License-Identifier: MIT */
/*
 * Sending and writing. A blocking send on a stream takes all bytes. The first
 * call does not wait; requests send the rest, up to the limit of one call of
 * the kernel's. Bytes that were sent before an error or a handler are the
 * result.
 */
#include <errno.h>
#include <limits.h>
#include <linux/io_uring.h>

#include "io/backend/call.h"
#include "io/backend/ring.h"
#include "io/call/file.h"
#include "io/call/pinned_call.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

/* Parts that are copied at a time. */
enum { MOST_PARTS = 64 };

/*
 * Stores in `to` the first parts of iov that remain after `done` of the call's
 * `total` bytes. Returns the number of parts, at most MOST_PARTS.
 */
static size_t skip(struct iovec *to, const struct iovec *iov, size_t nr,
		   size_t done, size_t total)
{
	size_t nr_left = 0, left = total - done;

	for (size_t i = 0; i < nr && nr_left < MOST_PARTS && left > 0; i++) {
		size_t bytes;

		if (done >= iov[i].iov_len) {
			done -= iov[i].iov_len;
			continue;
		}
		bytes = iov[i].iov_len - done;
		bytes = bytes < left ? bytes : left;
		to[nr_left].iov_base = (char *)iov[i].iov_base + done;
		to[nr_left].iov_len = bytes;
		left -= bytes;
		done = 0;
		nr_left++;
	}
	return nr_left;
}

/* Once bytes were moved, the call stays with the file that it began with. */
static uint32_t generation_of_file(uint32_t uses_at_call, long done)
{
	return done > 0 ? uses_at_call : WF_ANY_GENERATION;
}

/*
 * The kernel wakes a sender that waits in a Unix socket's queue for a shutdown
 * of either end, but not a poll. So such a wait polls now and then.
 */
struct retries {
	int64_t deadline;
	/* pause before the next try; WF_FOREVER: the kernel wakes */
	int64_t poll_ns;
};

static struct retries retries_of(int fd)
{
	const int64_t first_poll_ns = 10 * WF_NS_PER_MS;

	return (struct retries){
		.deadline = wf_descriptor_deadline(fd, SO_SNDTIMEO),
		.poll_ns = wf_descriptor_is_unix(fd) ? first_poll_ns :
						       WF_FOREVER,
	};
}

static int64_t next_poll(struct retries *p)
{
	const int64_t most_ns = WF_NS_PER_S / 2;
	int64_t look;

	if (p->poll_ns == WF_FOREVER)
		return p->deadline;
	look = wf_os_now() + p->poll_ns;
	p->poll_ns = p->poll_ns < most_ns ? 2 * p->poll_ns : most_ns;
	return look < p->deadline ? look : p->deadline;
}

/* n is the result of a wait: does the call continue? */
static bool looks_again(const struct retries *p, long n, bool is_first,
			uint32_t nr_handlers)
{
	if (n == -EAGAIN)
		return !wf_io_is_over(p->deadline) &&
		       (is_first || wf_self->nr_handlers == nr_handlers);
	return wf_io_restarts(n, is_first, p->deadline);
}

/*
 * Sends the next part when there is room, without waiting. A later error
 * belongs to the next call, as natively, which may raise SIGPIPE. 0: the send
 * is over.
 */
static long send_more(struct wf_pinned_call *h, struct msghdr *msg,
		      uint32_t flags, struct retries *p, uint32_t *nr_handlers)
{
	long n = wf_io_run_partial(h->r, next_poll(p), false, nr_handlers);
	int fd = wf_pinned_call_fd(h);

	if (h->r->op == IORING_OP_SENDMSG && n != -ENOSYS && n != -EAGAIN)
		return n;
	flags |= MSG_NOSIGNAL;
	if ((n >= 0 || n == -ENOSYS) && wf_io_has_error(fd))
		return 0;
	if (n == -ENOSYS)
		return wf_io_result(wf_real.sendmsg(fd, msg, (int)flags));
	return n < 0 && n != -EAGAIN ?
		       n :
		       wf_sys(SYS_sendmsg, fd, msg, flags | MSG_DONTWAIT);
}

/* Sends again, for the error: a ring never raises the SIGPIPE of a socket. */
static long fail_to_send(int fd, const struct msghdr *msg, uint32_t flags)
{
	/* the error that a waiting sender would get first */
	int err = wf_descriptor_option(fd, SO_ERROR, 0);

	return err != 0 ? -err :
			  wf_sys(SYS_sendmsg, fd, msg, flags | MSG_DONTWAIT);
}

/* Sends the first part; a datagram is sent whole. */
static long send_first(struct wf_pinned_call *h, struct msghdr *msg,
		       struct retries *p, uint32_t *nr_handlers)
{
	/* after a shutdown a ring tries again */
	bool is_reported = !h->r->avoids_ring && !wf_ring_is_refused();
	long n = wf_io_run_partial(h->r,
				   is_reported ? p->deadline : next_poll(p),
				   true, nr_handlers);
	uint32_t flags = h->r->op_flags;

	if (n == -EAGAIN && !is_reported)
		n = wf_sys(SYS_sendmsg, wf_pinned_call_fd(h), msg,
			   flags | MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == -EPIPE ? fail_to_send(wf_pinned_call_fd(h), msg, flags) : n;
}

/* Sends the rest by messages; the message of r is set for each part. */
static long send_rest(struct wf_request *r, struct msghdr *msg,
		      const struct iovec *iov, size_t nr, long done,
		      uint32_t generation)
{
	struct retries retries = retries_of(r->fd);
	struct wf_request ready = wf_io_readiness(r->fd, POLLOUT);
	struct wf_request *more = NULL; /* waits for the next parts */
	uint32_t nr_handlers = wf_self->nr_handlers;
	size_t total = wf_io_total(iov, nr);
	struct iovec left[MOST_PARTS];
	WF_PINNED_CALL struct wf_pinned_call pinned;

	wf_pinned_call_begin(&pinned, r, generation_of_file(generation, done));
	ready.scope = r->scope;
	done = done < 0 ? 0 : done;
	/* After a full queue a ring tries again with the rest of the message.
	 * For a datagram that rest is empty, and the ring would send it. */
	r->avoids_ring = !wf_descriptor_is_byte_stream(r->fd);
	msg->msg_iov = (struct iovec *)iov;
	msg->msg_iovlen = nr;
	do {
		bool is_first = done == 0;
		long n;

		if (is_first) {
			n = send_first(&pinned, msg, &retries, &nr_handlers);
		} else {
			/*
			 * poll reports the socket's queued reports as errors,
			 * so the message itself waits
			 */
			if (more == NULL)
				more = wf_descriptor_queues_reports(
					       wf_pinned_call_fd(&pinned)) ?
					       r :
					       &ready;
			pinned.r = more;
			msg->msg_iovlen =
				skip(left, iov, nr, (size_t)done, total);
			msg->msg_iov = left;
			n = send_more(&pinned, msg, r->op_flags, &retries,
				      &nr_handlers);
		}
		if (n < 0 && looks_again(&retries, n, is_first, nr_handlers))
			continue;
		if (n <= 0)
			return done > 0 ? done : n;
		done += n;
	} while ((size_t)done < total);
	return done;
}

/* Sends the rest, after a first try has sent n bytes or returned -EAGAIN. */
static WF_NOINLINE long send_later(int fd, struct msghdr *msg, int flags,
				   const struct iovec *iov, size_t nr, long n,
				   uint32_t generation)
{
	struct wf_request r = {
		.op = IORING_OP_SENDMSG,
		.fd = fd,
		.addr = (uintptr_t)msg,
		.len = 1,
		.op_flags = (uint32_t)flags,
	};

	return send_rest(&r, msg, iov, nr, n, generation);
}

static long write_rest_of_message(int fd, const struct iovec *iov, size_t nr,
				  long done, uint32_t generation)
{
	struct msghdr msg = { .msg_name = NULL };

	return send_later(fd, &msg, 0, iov, nr, done, generation);
}

/*
 * The thread itself makes the calls: a ring would raise SIGPIPE for the thread
 * that runs when the kernel resumes the request. h waits for room.
 */
static long write_rest(struct wf_pinned_call *h, const struct iovec *iov,
		       size_t nr, long done)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	size_t total = wf_io_total(iov, nr);
	struct iovec left[MOST_PARTS];

	done = done < 0 ? 0 : done;
	do {
		bool is_first = done == 0;
		long n = wf_io_run_partial(h->r, WF_FOREVER, is_first,
					   &nr_handlers);
		const struct iovec *parts = is_first ? iov : left;
		size_t nr_parts =
			is_first ? nr :
				   skip(left, iov, nr, (size_t)done, total);

		if (n == -ENOSYS && !is_first)
			n = wf_io_result(wf_real.writev(wf_pinned_call_fd(h),
							left, (int)nr_parts));
		else if (n != -EINTR && n != -ECANCELED && n != -ENOSYS)
			n = wf_sys(SYS_pwritev2, wf_pinned_call_fd(h), parts,
				   nr_parts, -1L, -1L, RWF_NOWAIT);
		/* a splice has turned RWF_NOWAIT off */
		if (n == -EOPNOTSUPP)
			n = wf_call_run(WF_CALL(SYS_writev,
						wf_pinned_call_fd(h),
						(long)parts, (long)nr_parts),
					is_first ? WF_CALL_RESTARTS :
						   WF_CALL_ENDS_BY_SIGNAL,
					WF_FOREVER);
		if (n == -EAGAIN && wf_self->interrupted)
			n = -EINTR;
		if (n == -EAGAIN)
			continue;
		if (n <= 0)
			return done > 0 ? done : n;
		done += n;
	} while ((size_t)done < total);
	return done;
}

static long write_rest_to(int fd, const struct iovec *iov, size_t nr, long done,
			  uint32_t generation)
{
	struct wf_request ready = wf_io_readiness(fd, POLLOUT);
	WF_PINNED_CALL struct wf_pinned_call pinned;

	wf_pinned_call_begin(&pinned, &ready,
			     generation_of_file(generation, done));
	return write_rest(&pinned, iov, nr, done);
}

/*
 * Writes more than PIPE_BUF bytes, all of them to the file of the first part.
 */
static WF_NOINLINE long write_long(int fd, const struct iovec *iov, int nr,
				   size_t total)
{
	struct wf_request ready = wf_io_readiness(fd, POLLOUT);
	WF_PINNED_CALL struct wf_pinned_call pinned;
	int now;
	long n;

	for (int i = 0; i < nr; i++)
		wf_pinned_call_fault_in(iov[i].iov_base, iov[i].iov_len);
	wf_pinned_call_begin(&pinned, &ready, WF_ANY_GENERATION);
	now = wf_pinned_call_enter(&pinned);
	n = wf_io_try(SYS_pwritev2, now, iov, nr, -1);
	if (n > 0 && (size_t)n < total && !wf_descriptor_is_nonblocking(now))
		return write_rest(&pinned, iov, (size_t)nr, n);
	wf_pinned_call_leave(&pinned);
	return n;
}

static bool may_wait(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 && !wf_descriptor_is_nonblocking(fd);
}

long wf_io_go_on_sending(const struct wf_io_begun *b, const struct iovec *iov,
			 size_t nr, int flags, long n)
{
	struct msghdr msg = { .msg_name = NULL };

	if (!wf_io_is_cut_short(b, wf_io_total(iov, nr), n) ||
	    !wf_descriptor_is_stream(b->fd) || !may_wait(b->fd, flags) ||
	    wf_descriptor_deadline(b->fd, SO_SNDTIMEO) != WF_FOREVER)
		return n;
	return wf_descriptor_is_socket(b->fd) ?
		       send_later(b->fd, &msg, flags, iov, nr, n,
				  b->generation) :
		       write_rest_to(b->fd, iov, nr, n, b->generation);
}

static WF_NOINLINE long writev_other(int fd, const struct iovec *iov, int nr)
{
	uint32_t generation = wf_descriptor_generation(fd);
	size_t total;
	bool is_short;
	long n;

	if (!wf_descriptor_is_stream(fd))
		return wf_io_file_writev(fd, iov, nr);
	total = wf_io_total(iov, (size_t)nr);
	is_short = total <= PIPE_BUF;
	n = is_short ? wf_io_try(SYS_pwritev2, fd, iov, nr, -1) :
		       write_long(fd, iov, nr, total);
	if (n == -EOPNOTSUPP)
		return wf_io_call_when_ready(SYS_writev, fd, iov, nr, POLLOUT,
					     is_short);
	if ((n != -EAGAIN && (n <= 0 || (size_t)n == total || !is_short)) ||
	    wf_descriptor_is_nonblocking(fd))
		return n;
	return wf_descriptor_is_socket(fd) ?
		       write_rest_of_message(fd, iov, (size_t)nr, n,
					     generation) :
		       write_rest_to(fd, iov, (size_t)nr, n, generation);
}

static WF_NOINLINE long write_other(int fd, const void *buf, size_t bytes)
{
	struct iovec iov = { (void *)buf, bytes };

	return writev_other(fd, &iov, 1);
}

long wf_io_write(int fd, const void *buf, size_t bytes)
{
	/* On a socket send does the same as write and costs less. */
	if (wf_descriptor_is_stream_socket(fd)) {
		long n = wf_io_sendto(fd, buf, bytes, 0, NULL, 0);

		if (n != -ENOTSOCK)
			return n;
	}
	return write_other(fd, buf, bytes);
}

long wf_io_writev(int fd, const struct iovec *iov, int nr)
{
	if (nr == 1 && iov->iov_len > 0)
		return wf_io_write(fd, iov->iov_base, iov->iov_len);
	return writev_other(fd, iov, nr);
}

/* With MSG_FASTOPEN a send that must not wait only begins to connect. */
static int now_flag(int flags)
{
	return (flags & MSG_FASTOPEN) != 0 ? 0 : MSG_DONTWAIT;
}

/*
 * With MSG_ZEROCOPY the kernel reports the end of each call, so there must be
 * one call. A worker makes it: a completion would interrupt a carrier.
 */
static bool is_counted(int fd, int flags)
{
	return (flags & MSG_ZEROCOPY) != 0 && may_wait(fd, flags);
}

/* Has the first call, which does not wait, failed? */
static bool has_failed(long n)
{
	return n < 0 && n != -EAGAIN;
}

static bool is_all(int fd, int flags, const struct iovec *iov, size_t nr,
		   long n)
{
	return (n >= 0 && (size_t)n == wf_io_total(iov, nr)) ||
	       !may_wait(fd, flags);
}

long wf_io_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	uint32_t generation = wf_descriptor_generation(fd);
	struct msghdr copy;
	long n;

	if (is_counted(fd, flags))
		return wf_call_wait(WF_CALL(SYS_sendmsg, fd, (long)msg, flags));
	n = wf_sys(SYS_sendmsg, fd, msg, flags | now_flag(flags));
	/* msg is readable: the call has not returned EFAULT */
	if (has_failed(n) ||
	    is_all(fd, flags, msg->msg_iov, msg->msg_iovlen, n))
		return n;
	copy = *msg;
	if (n > 0) {
		/* the first part had the control data */
		copy.msg_control = NULL;
		copy.msg_controllen = 0;
	}
	return send_later(fd, &copy, flags, msg->msg_iov, msg->msg_iovlen, n,
			  generation);
}

static WF_NOINLINE long sendto_later(int fd, const struct iovec *iov, int flags,
				     const struct sockaddr *addr,
				     socklen_t addr_bytes, long n,
				     uint32_t generation)
{
	struct msghdr msg = {
		.msg_name = (void *)addr,
		.msg_namelen = addr_bytes,
	};

	return send_later(fd, &msg, flags, iov, 1, n, generation);
}

long wf_io_sendto(int fd, const void *buf, size_t bytes, int flags,
		  const struct sockaddr *addr, socklen_t addr_bytes)
{
	struct iovec iov = { (void *)buf, bytes };
	uint32_t generation = wf_descriptor_generation(fd);
	long n;

	if (is_counted(fd, flags))
		return wf_call_wait(WF_CALL(SYS_sendto, fd, (long)buf,
					    (long)bytes, flags, (long)addr,
					    addr_bytes));
	n = wf_sys(SYS_sendto, fd, buf, bytes, flags | now_flag(flags), addr,
		   addr_bytes);
	if (has_failed(n) || is_all(fd, flags, &iov, 1, n))
		return n;
	return sendto_later(fd, &iov, flags, addr, addr_bytes, n, generation);
}

/*
 * Sends as many messages as there is room for by one call, then waits with one
 * message, and so on. On a byte stream one message at a time: it may take a
 * part.
 */
int wf_io_sendmmsg(int fd, struct mmsghdr *messages, unsigned int nr, int flags)
{
	const unsigned int most = UIO_MAXIOV; /* as in the kernel */
	bool is_single = wf_descriptor_is_byte_stream(fd) ||
			 is_counted(fd, flags);
	uint32_t generation = wf_descriptor_generation(fd);
	unsigned int done = 0;
	long n = 0;

	nr = nr < most ? nr : most;
	if (nr == 0)
		return (int)wf_sys(SYS_sendmmsg, fd, messages, nr, flags);
	/* stop when the number has another file */
	while (done < nr && wf_descriptor_generation(fd) == generation) {
		struct msghdr *msg = &messages[done].msg_hdr;

		if (!is_single) {
			n = wf_sys(SYS_sendmmsg, fd, messages + done, nr - done,
				   flags | now_flag(flags));
			done += n > 0 ? (unsigned int)n : 0;
			if (n > 0)
				continue;
			if (n != -EAGAIN || !may_wait(fd, flags))
				break;
		}
		n = wf_io_sendmsg(fd, msg, flags);
		if (n < 0)
			break;
		messages[done++].msg_len = (unsigned int)n;
		if ((size_t)n < wf_io_total(msg->msg_iov, msg->msg_iovlen))
			break;
	}
	return done > 0 ? (int)done : (int)n;
}
