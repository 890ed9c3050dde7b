/* SPDX-License-Identifier: MIT */
/*
 * Receiving. First the call that does not wait: what is there costs one system
 * call and no switch. Then a request, which waits for the file and not for the
 * number. A ring would wait for descriptors that the program made
 * non-blocking, too.
 *
 * What waits is called last, by functions with small frames of their own: it
 * decides how much of its stack each of many threads touches.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <string.h>

#include "io/address.h"
#include "io/call.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "io/io.h"
#include "io/receive_all.h"
#include "io/run.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "wait/ufutex.h"

/*
 * There was nothing, and the caller does not wait here: it is about to poll
 * (io/poll.c, POLL-1).
 */
static long found_dry(int fd)
{
	wf_self->hint = wf_io_dry_hint(fd);
	return -EAGAIN;
}

/*
 * As wf_io_run; any handler ends one that is not the first of its call. A
 * worker's call for all heeds the limit by itself, and tells what has come
 * along with a part, which one that is interrupted does not.
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
 * A socket of packets that is asked not to wait looks for a message, then
 * whether there may be more: the one that comes in between is there when it has
 * said that it has ended. Who waits is told of that one first.
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

/* n is what the call that has found it returned. */
static long after_false_end(long n)
{
	return n == -EAGAIN ? 0 : n; /* somebody else has it */
}

/* Anything but a socket without borders between messages. */
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
	if (n == -EOPNOTSUPP) { /* splice has made it a file of this kind */
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
 * Without what has found nothing because sockets of this kind take no notice of
 * it: Unix ones have no queue of errors, datagrams no urgent data.
 */
static int heeded(int fd, int flags)
{
	if ((flags & MSG_ERRQUEUE) != 0 && wf_descriptor_is_unix(fd))
		flags &= ~MSG_ERRQUEUE;
	if ((flags & MSG_OOB) != 0 && !wf_descriptor_is_byte_stream(fd))
		flags &= ~MSG_OOB;
	return flags;
}

/* What several have written is not received at once. */
static bool tells_writers(int fd)
{
	return wf_descriptor_is_unix(fd) && wf_descriptor_reports_sender(fd);
}

/*
 * Only the plain call can wait for more than it leaves where it is, or than the
 * first byte, or for as much as one has written. A worker makes it: a ring's
 * news would cut a carrier's short.
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
 * A ring takes MSG_WAITALL for several messages of some sockets, and for more
 * than came with descriptors of others.
 */
static bool waits_for_one(int fd, int flags)
{
	return (flags & MSG_WAITALL) != 0 &&
	       (!wf_descriptor_is_byte_stream(fd) || wf_descriptor_is_unix(fd));
}

/*
 * Where the sender is told, the kernel tells of nobody when there is nothing
 * to receive. A ring, which looks again when something has come, has no room
 * left in msg_control then: descriptors that were sent are lost.
 */
static bool has_room_for_once(int fd, const struct msghdr *msg)
{
	void *control;

	return wf_memory_get(&control, &msg->msg_control, sizeof(control)) ==
		       0 &&
	       control != NULL && wf_descriptor_reports_sender(fd);
}

/* A ring takes the first part for all then. */
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
	/* The ring knows what is missing when a part has come. */
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

	/* A message that had no room was one. */
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

/* With the sender's address: the same as a message of one part. */
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

	/* The kernel says so, when a message has come. */
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

/* From anybody: each is tried first. */
static WF_NOINLINE long recv_at_address(int fd, void *buf, size_t bytes,
					int flags)
{
	struct wf_request r = wf_receive_later(fd, buf, bytes, flags);

	r.avoids_ring = waits_for_one(fd, flags);
	return run(&r, true);
}

/* After n bytes or -EAGAIN. */
static long recv_waiting(int fd, void *buf, size_t bytes, int flags, long n,
			 struct sockaddr *addr, socklen_t *addr_bytes,
			 uint32_t generation)
{
	/* A stream tells no address, but that it has none. */
	if ((flags & MSG_WAITALL) != 0 && (n > 0 || addr == NULL) &&
	    wf_descriptor_is_byte_stream(fd))
		return wf_receive_rest(fd, buf, bytes, flags, n > 0 ? n : 0,
				       generation);
	return addr != NULL ? recv_with_address(fd, buf, bytes, flags, addr,
						addr_bytes) :
			      recv_later(fd, buf, bytes, flags, false);
}

/* First without waiting. */
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
	/* Not asked first: the last ones of this descriptor had to wait. */
	if (flags == 0 && addr == NULL && wf_descriptor_expects_wait(fd) &&
	    !wf_descriptor_waits_for_more(fd))
		return recv_later(fd, buf, bytes, flags, true);
	if (is_plain(fd, flags))
		return wf_call_wait(WF_CALL(SYS_recvfrom, fd, (long)buf,
					    (long)bytes, flags, (long)addr,
					    (long)addr_bytes));
	return recv_now(fd, buf, bytes, flags, addr, addr_bytes);
}

/* Of a socket that may be one of packets. */
static WF_NOINLINE long recv_packet(int fd, void *buf, size_t bytes, int flags,
				    struct sockaddr *addr,
				    socklen_t *addr_bytes)
{
	long n = recv_from(fd, buf, bytes, flags, addr, addr_bytes);

	/* Packets have a connection, and so no address to tell. */
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
	/* The same for less. */
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

/* Those that are there, up to one more when the time is over. */
static long recvmmsg_now(int fd, struct mmsghdr *messages, unsigned int nr,
			 int flags, int64_t deadline_ns)
{
	struct timespec left;

	if (deadline_ns != WF_FOREVER)
		left = time_left(deadline_ns);
	return wf_sys(SYS_recvmmsg, fd, messages, nr, flags | MSG_DONTWAIT,
		      deadline_ns != WF_FOREVER ? &left : NULL);
}

/* Those that are there by one call, then one that is waited for, and so on. */
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
		/* Is the number the file that it was? */
		if (wf_descriptor_generation(fd) != generation)
			break;
	}
	if (done > 0 && timeout != NULL && put_left(timeout, deadline_ns) < 0)
		return -EFAULT;
	return done > 0 ? (int)done : (int)n;
}
