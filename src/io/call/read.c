/* SPDX-License-Identifier: MIT */
/*
 * Receiving and reading. First comes the call that does not wait: if data has
 * come, it costs one system call and no switch. If none has come, a request
 * waits for the file and not for the number. weft checks O_NONBLOCK before that
 * or later (io/backend/nonblock.h), as a ring would also wait on a non-blocking
 * descriptor.
 *
 * The call that waits is the last one of functions with small frames. These
 * frames determine how much stack each waiting thread touches.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <string.h>

#include "io/backend/call.h"
#include "io/call/address.h"
#include "io/call/file.h"
#include "io/call/receive_all.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "wait/ufutex.h"

/*
 * The socket is empty and the caller does not wait here. It is most likely
 * about to poll (io/call/poll.c, POLL-1).
 */
static long found_dry(int fd)
{
	wf_self->hint = wf_io_dry_hint(fd);
	return -EAGAIN;
}

/*
 * Runs r as wf_io_run does, but any handler ends a wait that is not the first
 * of its call. With MSG_WAITALL a worker's call obeys the time limit itself,
 * and returns the bytes that came until then. If weft interrupted that call the
 * bytes would be lost, so weft waits longer than the limit.
 */
static int run(struct wf_request *r, bool is_first)
{
	const int64_t grace_ns = 100 * WF_NS_PER_MS;
	const int64_t year_ns = 365 * 24 * 3600 * WF_NS_PER_S;
	int64_t deadline_ns = wf_descriptor_deadline(r->fd, SO_RCVTIMEO);

	if (deadline_ns == WF_FOREVER && !is_first)
		deadline_ns = wf_os_now() + year_ns;
	else if (deadline_ns != WF_FOREVER && r->avoids_ring &&
		 (r->op_flags & MSG_WAITALL) != 0)
		deadline_ns += grace_ns;
	return wf_descriptor_has_address(r->fd) ?
		       wf_address_run(r, deadline_ns) :
		       wf_io_run(r, deadline_ns);
}

/*
 * A receive without waiting on a SOCK_SEQPACKET socket checks for a message,
 * then for the end. If a message and the end both come in between, the receive
 * returns the end although a message is in the queue. A receive that waits
 * returns the message first. Returns true if that has happened.
 */
static bool is_false_end(int fd, int flags)
{
	struct pollfd now = { fd, POLLRDHUP, 0 };
	char byte;

	return wf_receive_may_wait(fd, flags) &&
	       wf_descriptor_option(fd, SO_TYPE, 0) == SOCK_SEQPACKET &&
	       wf_sys(SYS_recvfrom, fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, NULL,
		      NULL) > 0 &&
	       wf_sys(SYS_poll, &now, 1, 0) == 1;
}

/*
 * Returns the call's result after a false end; n is that of a second receive.
 */
static long after_false_end(long n)
{
	/* another thread has received the message */
	return n == -EAGAIN ? 0 : n;
}

/* Reads from any file but a socket without message boundaries. */
static WF_NOINLINE long readv_other(int fd, const struct iovec *iov, int nr)
{
	struct wf_request r = {
		.op = IORING_OP_READV,
		.fd = fd,
		.addr = (uintptr_t)iov,
		.len = (uint32_t)nr,
		.off = UINT64_MAX,
	};
	long n;

	if (!wf_descriptor_is_stream(fd))
		return wf_io_file_readv(fd, iov, nr);
	if (wf_descriptor_waits_for_more(fd) && wf_receive_may_wait(fd, 0))
		return wf_call_wait(WF_CALL(SYS_readv, fd, (long)iov, nr));
	n = wf_io_try(SYS_preadv2, fd, iov, nr, -1);
	if (n == -EOPNOTSUPP)
		return wf_io_call_when_ready(SYS_readv, fd, iov, nr, POLLIN,
					     true);
	if (n == -EAGAIN && !wf_descriptor_is_nonblocking(fd))
		n = run(&r, true);
	/* a splice into the pipe has turned RWF_NOWAIT off */
	if (n == -EOPNOTSUPP) {
		wf_descriptor_cannot_be_asked(fd, false);
		n = wf_io_call_when_ready(SYS_readv, fd, iov, nr, POLLIN, true);
	}
	if (n == 0 && wf_io_total(iov, (size_t)nr) > 0 && is_false_end(fd, 0))
		n = after_false_end(wf_io_try(SYS_preadv2, fd, iov, nr, -1));
	return n;
}

static WF_NOINLINE long read_other(int fd, void *buf, size_t bytes)
{
	struct iovec iov = { buf, bytes };

	return readv_other(fd, &iov, 1);
}

/*
 * Returns the flags without those that this kind of socket ignores, as a
 * receive that found nothing has shown. Unix sockets have no error queue, and
 * datagrams no urgent data.
 */
static int heeded(int fd, int flags)
{
	if ((flags & MSG_ERRQUEUE) != 0 && wf_descriptor_is_unix(fd))
		flags &= ~MSG_ERRQUEUE;
	if ((flags & MSG_OOB) != 0 && !wf_descriptor_is_byte_stream(fd))
		flags &= ~MSG_OOB;
	return flags;
}

/*
 * Does the socket report each message's sender? One receive then takes no bytes
 * of a second sender.
 */
static bool tells_writers(int fd)
{
	return wf_descriptor_is_unix(fd) && wf_descriptor_reports_sender(fd);
}

/*
 * Returns true if only the plain system call can wait as the flags and options
 * demand: for a low-water mark, for all bytes while it peeks, or for the bytes
 * of one sender. A worker makes the call, because a ring completion would
 * interrupt it on a carrier.
 */
static bool is_plain(int fd, int flags)
{
	const int peeks_for_all = MSG_PEEK | MSG_WAITALL;

	return ((flags & peeks_for_all) == peeks_for_all ||
		wf_descriptor_waits_for_more(fd) ||
		((flags & MSG_WAITALL) != 0 && tells_writers(fd))) &&
	       wf_receive_may_wait(fd, flags);
}

/*
 * Returns true if a ring would receive too much with MSG_WAITALL: on some
 * sockets several messages, on Unix sockets more than came with the
 * descriptors.
 */
static bool waits_for_one(int fd, int flags)
{
	return (flags & MSG_WAITALL) != 0 &&
	       (!wf_descriptor_is_byte_stream(fd) || wf_descriptor_is_unix(fd));
}

/*
 * Returns true if msg_control has room for one receive only. With SO_PASSCRED
 * the kernel reports an empty sender when there is nothing to receive. A ring
 * that then tries again has no room left in msg_control, and loses descriptors
 * that were sent.
 */
static bool has_room_for_once(int fd, const struct msghdr *msg)
{
	void *control;

	return wf_memory_get(&control, &msg->msg_control, sizeof(control)) ==
		       0 &&
	       control != NULL && wf_descriptor_reports_sender(fd);
}

/*
 * Does the call ask for control data? Then a ring would end the receive after
 * the first part, also with MSG_WAITALL.
 */
static bool has_control(const struct msghdr *msg)
{
	size_t bytes;

	return wf_memory_get(&bytes, &msg->msg_controllen, sizeof(bytes)) ==
		       0 &&
	       bytes != 0;
}

static long recvmsg_part(int fd, struct msghdr *msg, int flags, bool is_first)
{
	struct wf_request r = {
		.op = IORING_OP_RECVMSG,
		.fd = fd,
		.addr = (uintptr_t)msg,
		.len = 1,
		.op_flags = (uint32_t)flags,
	};

	if (is_plain(fd, flags))
		return wf_call_wait(WF_CALL(SYS_recvmsg, fd, (long)msg, flags));
	/* with MSG_WAITALL the ring itself receives the missing rest */
	if ((flags & MSG_WAITALL) == 0 || !wf_receive_may_wait(fd, flags)) {
		long n = wf_sys(SYS_recvmsg, fd, msg, flags | MSG_DONTWAIT);

		if (n != -EAGAIN)
			return n;
		flags = heeded(fd, flags);
		if (!wf_receive_may_wait(fd, flags))
			return found_dry(fd);
		r.op_flags = (uint32_t)flags;
	}
	r.avoids_ring = waits_for_one(fd, flags) ||
			((flags & MSG_WAITALL) != 0 && has_control(msg)) ||
			has_room_for_once(fd, msg);
	return run(&r, is_first);
}

static long recvmsg_after_false_end(int fd, struct msghdr *msg, int flags,
				    const struct msghdr *before)
{
	int told;

	/* a truncated message was a message, not the end */
	if (wf_memory_get(&told, &msg->msg_flags, sizeof(told)) < 0 ||
	    (told & MSG_TRUNC) != 0 || !is_false_end(fd, flags))
		return 0;
	wf_memory_put(&msg->msg_namelen, &before->msg_namelen,
		      sizeof(before->msg_namelen));
	wf_memory_put(&msg->msg_controllen, &before->msg_controllen,
		      sizeof(before->msg_controllen));
	return after_false_end(
		wf_sys(SYS_recvmsg, fd, msg, flags | MSG_DONTWAIT));
}

static WF_NOINLINE long recvmsg_packet(int fd, struct msghdr *msg, int flags)
{
	struct msghdr before;
	bool is_there = wf_memory_get(&before, msg, sizeof(before)) == 0;
	long n = recvmsg_part(fd, msg, flags, true);

	return n == 0 && is_there ?
		       recvmsg_after_false_end(fd, msg, flags, &before) :
		       n;
}

long wf_io_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return wf_descriptor_is_stream_socket(fd) ?
		       recvmsg_part(fd, msg, flags, true) :
		       recvmsg_packet(fd, msg, flags);
}

/* Receives with the sender's address, as a message of one part. */
static WF_NOINLINE long recv_with_address(int fd, void *buf, size_t bytes,
					  int flags, struct sockaddr *addr,
					  socklen_t *addr_bytes)
{
	struct iovec iov = { buf, bytes };
	struct msghdr msg = {
		.msg_name = addr,
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	struct wf_request r = {
		.op = IORING_OP_RECVMSG,
		.fd = fd,
		.addr = (uintptr_t)&msg,
		.len = 1,
		.op_flags = (uint32_t)flags,
	};
	int n;

	/* a bad pointer: the kernel returns EFAULT when a message has come */
	if (wf_memory_get(&msg.msg_namelen, addr_bytes, sizeof(*addr_bytes)) <
	    0)
		return -ENOSYS;
	r.avoids_ring = waits_for_one(fd, flags);
	n = run(&r, true);
	if (n >= 0 && wf_memory_put(addr_bytes, &msg.msg_namelen,
				    sizeof(*addr_bytes)) < 0)
		return -EFAULT;
	return n;
}

static WF_NOINLINE long recv_later(int fd, void *buf, size_t bytes, int flags,
				   bool is_unchecked)
{
	struct wf_request r = wf_receive_later(fd, buf, bytes, flags);

	r.is_unchecked = is_unchecked;
	r.fd_generation = wf_descriptor_generation(fd);
	r.avoids_ring = waits_for_one(fd, flags);
	return wf_io_run(&r, wf_descriptor_deadline(fd, SO_RCVTIMEO));
}

/*
 * Receives on a socket with an address and no peer. Each receive is tried
 * before it waits.
 */
static WF_NOINLINE long recv_at_address(int fd, void *buf, size_t bytes,
					int flags)
{
	struct wf_request r = wf_receive_later(fd, buf, bytes, flags);

	r.avoids_ring = waits_for_one(fd, flags);
	return run(&r, true);
}

/* Waits and receives, after a first try has returned n bytes or -EAGAIN. */
static long recv_waiting(int fd, void *buf, size_t bytes, int flags, long n,
			 struct sockaddr *addr, socklen_t *addr_bytes,
			 uint32_t generation)
{
	/* On a byte stream, `addr` only reports that the sender has no
	 * address. */
	if ((flags & MSG_WAITALL) != 0 && (n > 0 || addr == NULL) &&
	    wf_descriptor_is_byte_stream(fd))
		return wf_receive_rest(fd, buf, bytes, flags, n > 0 ? n : 0,
				       generation);
	return addr != NULL ? recv_with_address(fd, buf, bytes, flags, addr,
						addr_bytes) :
			      recv_later(fd, buf, bytes, flags, false);
}

/* Receives, first without waiting. */
static WF_NOINLINE long recv_now(int fd, void *buf, size_t bytes, int flags,
				 struct sockaddr *addr, socklen_t *addr_bytes)
{
	uint32_t generation = wf_descriptor_generation(fd);
	bool is_for_all = (flags & MSG_WAITALL) != 0, is_over = false;
	bool has_address;
	long n;

	if (is_for_all && addr == NULL)
		n = wf_receive_all(fd, buf, bytes, flags, &is_over);
	else
		n = wf_sys(SYS_recvfrom, fd, buf, bytes, flags | MSG_DONTWAIT,
			   addr, addr_bytes);
	if (n != -EAGAIN &&
	    (!is_for_all || is_over || n <= 0 || (size_t)n >= bytes)) {
		wf_descriptor_was_tried(fd, false);
		return n;
	}
	if (n == -EAGAIN)
		flags = heeded(fd, flags);
	if (!wf_receive_may_wait(fd, flags))
		return n == -EAGAIN ? found_dry(fd) : n;
	if (n > 0 && !wf_descriptor_is_byte_stream(fd))
		return n;
	has_address = wf_descriptor_has_address(fd);
	wf_descriptor_was_tried(fd, !has_address);
	return has_address && addr == NULL ?
		       recv_at_address(fd, buf, bytes, flags) :
		       recv_waiting(fd, buf, bytes, flags, n, addr, addr_bytes,
				    generation);
}

static long recv_from(int fd, void *buf, size_t bytes, int flags,
		      struct sockaddr *addr, socklen_t *addr_bytes)
{
	/* no try first: the last receives on this descriptor had to wait */
	if (flags == 0 && addr == NULL && wf_descriptor_expects_wait(fd) &&
	    !wf_descriptor_waits_for_more(fd))
		return recv_later(fd, buf, bytes, flags, true);
	if (is_plain(fd, flags))
		return wf_call_wait(WF_CALL(SYS_recvfrom, fd, (long)buf,
					    (long)bytes, flags, (long)addr,
					    (long)addr_bytes));
	return recv_now(fd, buf, bytes, flags, addr, addr_bytes);
}

/* Receives from a socket that may be SOCK_SEQPACKET. */
static WF_NOINLINE long recv_packet(int fd, void *buf, size_t bytes, int flags,
				    struct sockaddr *addr,
				    socklen_t *addr_bytes)
{
	long n = recv_from(fd, buf, bytes, flags, addr, addr_bytes);

	/* SOCK_SEQPACKET has a connection, and so reports no address */
	if (n != 0 || bytes == 0 || !is_false_end(fd, flags))
		return n;
	return after_false_end(wf_sys(SYS_recvfrom, fd, buf, bytes,
				      flags | MSG_DONTWAIT, addr, addr_bytes));
}

long wf_io_recvfrom(int fd, void *buf, size_t bytes, int flags,
		    struct sockaddr *addr, socklen_t *addr_bytes)
{
	return wf_descriptor_is_stream_socket(fd) ?
		       recv_from(fd, buf, bytes, flags, addr, addr_bytes) :
		       recv_packet(fd, buf, bytes, flags, addr, addr_bytes);
}

long wf_io_read(int fd, void *buf, size_t bytes)
{
	/* On a socket recv does the same as read and costs less. */
	if (wf_descriptor_is_stream_socket(fd)) {
		long n = recv_from(fd, buf, bytes, 0, NULL, NULL);

		if (n != -ENOTSOCK)
			return n;
	}
	return read_other(fd, buf, bytes);
}

long wf_io_readv(int fd, const struct iovec *iov, int nr)
{
	if (nr == 1 && iov->iov_len > 0)
		return wf_io_read(fd, iov->iov_base, iov->iov_len);
	return readv_other(fd, iov, nr);
}

static struct timespec time_left(int64_t deadline_ns)
{
	int64_t left_ns = deadline_ns - wf_os_now();

	return wf_os_timespec(left_ns > 0 ? left_ns : 0);
}

static int put_left(struct timespec *timeout, int64_t deadline_ns)
{
	struct timespec left = time_left(deadline_ns);

	return wf_memory_put(timeout, &left, sizeof(left));
}

/*
 * Receives the messages that have come. After the time limit the kernel returns
 * one more at most.
 */
static long recvmmsg_now(int fd, struct mmsghdr *messages, unsigned int nr,
			 int flags, int64_t deadline_ns)
{
	struct timespec left;

	if (deadline_ns != WF_FOREVER)
		left = time_left(deadline_ns);
	return wf_sys(SYS_recvmmsg, fd, messages, nr, flags | MSG_DONTWAIT,
		      deadline_ns != WF_FOREVER ? &left : NULL);
}

/*
 * Receives the messages that have come by one call, then waits for one message,
 * and so on.
 */
int wf_io_recvmmsg(int fd, struct mmsghdr *messages, unsigned int nr, int flags,
		   struct timespec *timeout)
{
	int one_flags = flags & ~MSG_WAITFORONE;
	bool is_for_one = one_flags != flags;
	uint32_t generation = wf_descriptor_generation(fd);
	unsigned int done = 0;
	int64_t deadline_ns;
	long n = wf_memory_get_deadline(timeout, &deadline_ns);

	if (n < 0)
		return (int)n;
	for (;;) {
		n = recvmmsg_now(fd, messages + done, nr - done, one_flags,
				 deadline_ns);
		done += n > 0 ? (unsigned int)n : 0;
		if (done > 0 && (wf_io_is_over(deadline_ns) || is_for_one))
			break;
		if (done == nr || (n < 0 && n != -EAGAIN) ||
		    !wf_receive_may_wait(fd, heeded(fd, flags)))
			break;
		n = recvmsg_part(fd, &messages[done].msg_hdr, one_flags,
				 done == 0);
		if (n == -ENOSYS && done > 0)
			n = wf_io_result(wf_real.recvmsg(
				fd, &messages[done].msg_hdr, one_flags));
		if (n < 0)
			break;
		messages[done++].msg_len = (unsigned int)n;
		/* stop if the number has become another file's */
		if (wf_descriptor_generation(fd) != generation)
			break;
	}
	if (done > 0 && timeout != NULL && put_left(timeout, deadline_ns) < 0)
		return -EFAULT;
	return done > 0 ? (int)done : (int)n;
}
