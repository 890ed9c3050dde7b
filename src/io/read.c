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
#include <sys/ioctl.h>

#include "io/address.h"
#include "io/call.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "io/held.h"
#include "io/io.h"
#include "io/wait.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "wait/ufutex.h"

/*
 * There was nothing, and the caller does not wait here: it is about to poll
 * (io/poll.c, P1).
 */
static long found_dry(int fd)
{
	wf_self->hint = wf_io_dry_hint(fd);
	return -EAGAIN;
}

/* As wf_io_run. */
static int run(struct wf_request *r)
{
	int64_t deadline_ns = wf_descriptor_deadline(r->fd, SO_RCVTIMEO);

	return wf_descriptor_has_address(r->fd) ?
		       wf_address_run(r, deadline_ns) :
		       wf_io_run(r, deadline_ns);
}

/* Errors and urgent data are there or not. */
static bool may_wait(int fd, int flags)
{
	return (flags & (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)) == 0 &&
	       !wf_descriptor_is_nonblocking(fd);
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
	if (wf_descriptor_waits_for_more(fd) && may_wait(fd, 0))
		return wf_call_wait(WF_CALL(SYS_readv, fd, (long)iov, nr));
	n = wf_io_try(SYS_preadv2, fd, iov, nr, -1);
	if (n == -EOPNOTSUPP)
		return wf_io_call_when_ready(SYS_readv, fd, iov, nr, POLLIN,
					     true);
	if (n != -EAGAIN || wf_descriptor_is_nonblocking(fd))
		return n;
	return run(&r);
}

static WF_NOINLINE long read_other(int fd, void *buf, size_t bytes)
{
	struct iovec iov = { buf, bytes };

	return readv_other(fd, &iov, 1);
}

long wf_io_read(int fd, void *buf, size_t bytes)
{
	/* The same for less. */
	if (wf_descriptor_is_stream_socket(fd)) {
		long n = wf_io_recvfrom(fd, buf, bytes, 0, NULL, NULL);

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

/*
 * Only the plain call can wait for more than it leaves where it is, or than the
 * first byte. A server makes it: a ring's news would cut a carrier's short.
 */
static bool is_plain(int fd, int flags)
{
	const int peeks_for_all = MSG_PEEK | MSG_WAITALL;

	return ((flags & peeks_for_all) == peeks_for_all ||
		wf_descriptor_waits_for_more(fd)) &&
	       may_wait(fd, flags);
}

/* A ring takes MSG_WAITALL for several messages of some sockets. */
static bool waits_for_one(int fd, int flags)
{
	return (flags & MSG_WAITALL) != 0 && !wf_descriptor_is_byte_stream(fd);
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
	       control != NULL && wf_descriptor_tells_sender(fd);
}

long wf_io_recvmsg(int fd, struct msghdr *msg, int flags)
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
	if ((flags & MSG_WAITALL) == 0 || !may_wait(fd, flags)) {
		long n = wf_sys(SYS_recvmsg, fd, msg, flags | MSG_DONTWAIT);

		if (n != -EAGAIN)
			return n;
		flags = heeded(fd, flags);
		if (!may_wait(fd, flags))
			return found_dry(fd);
		r.op_flags = (uint32_t)flags;
	}
	r.avoids_ring = waits_for_one(fd, flags) || has_room_for_once(fd, msg);
	return run(&r);
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
	n = run(&r);
	if (n >= 0 && wf_memory_put(addr_bytes, &msg.msg_namelen,
				    sizeof(*addr_bytes)) < 0)
		return -EFAULT;
	return n;
}

/* One that waits before it receives. */
static struct wf_request receive_later(int fd, void *buf, size_t bytes,
				       int flags)
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

static WF_NOINLINE long recv_later(int fd, void *buf, size_t bytes, int flags,
				   bool is_unasked)
{
	struct wf_request r = receive_later(fd, buf, bytes, flags);

	r.is_unasked = is_unasked;
	r.fd_uses = wf_descriptor_uses(fd);
	r.avoids_ring = waits_for_one(fd, flags);
	return wf_io_run(&r, wf_descriptor_deadline(fd, SO_RCVTIMEO));
}

/* From anybody: each is tried first. */
static WF_NOINLINE long recv_at_address(int fd, void *buf, size_t bytes,
					int flags)
{
	struct wf_request r = receive_later(fd, buf, bytes, flags);

	r.avoids_ring = waits_for_one(fd, flags);
	return run(&r);
}

/* A signal of weft's own ends such a call early; the program's and the time
 * limit end it. */
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

/* What comes next is behind urgent data. */
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

/* The next part, when it is there; 0: it is over. */
static long recv_more(struct wf_held *h, char *buf, size_t bytes, int flags,
		      int64_t deadline_ns, uint32_t *nr_handlers, bool is_first)
{
	long n;

	if (!is_first && is_at_mark(wf_held_fd(h)))
		return 0;
	n = wf_io_run_part(h->r, deadline_ns, is_first, nr_handlers);
	if (n < 0 && n != -ENOSYS)
		return n;
	if (!is_first && wf_io_has_error(wf_held_fd(h)) &&
	    !has_data(wf_held_fd(h)))
		return 0;
	return n == -ENOSYS ? recv_by_libc(wf_held_fd(h), buf, bytes, flags,
					   deadline_ns) :
			      wf_sys(SYS_recvfrom, wf_held_fd(h), buf, bytes,
				     flags | MSG_DONTWAIT, NULL, NULL);
}

/* Where news is an error to who polls, it waits by the receive. */
static long recv_rest_at_once(int fd, char *buf, size_t bytes, int flags,
			      long n, uint32_t uses)
{
	struct wf_request r =
		receive_later(fd, buf + n, bytes - (size_t)n, flags);
	int64_t deadline_ns = wf_descriptor_deadline(fd, SO_RCVTIMEO);
	uint32_t nr_handlers = wf_self->nr_handlers;
	WF_HELD struct wf_held held;
	long more;

	wf_held_begin(&held, &r, uses);
	more = wf_io_run_part(&r, deadline_ns, n == 0, &nr_handlers);
	if (more == -ENOSYS && n > 0)
		more = recv_by_libc(wf_held_fd(&held), buf + n, r.len, flags,
				    deadline_ns);
	return more > 0 ? n + more : n > 0 ? n : more;
}

/*
 * MSG_WAITALL: what is still missing. A later error is the next call's: a ring
 * that waited by the receive would have taken it.
 */
static WF_NOINLINE long recv_rest(int fd, void *buf, size_t bytes, int flags,
				  long n, uint32_t uses)
{
	struct wf_request ready = wf_io_readiness(fd, POLLIN);
	int64_t deadline_ns;
	uint32_t nr_handlers = wf_self->nr_handlers;
	WF_HELD struct wf_held held = { .hold = { .kept_fd = -1 } };
	long more;

	if (wf_descriptor_queues_news(fd))
		return recv_rest_at_once(fd, buf, bytes, flags, n, uses);
	deadline_ns = wf_descriptor_deadline(fd, SO_RCVTIMEO);
	wf_held_begin(&held, &ready, uses);
	do {
		bool is_first = n == 0;

		more = recv_more(&held, (char *)buf + n, bytes - (size_t)n,
				 flags, deadline_ns, &nr_handlers, is_first);
		n += more > 0 ? more : 0;
		if (more == -EAGAIN && !wf_io_is_over(deadline_ns) &&
		    (is_first || wf_self->nr_handlers == nr_handlers))
			more = 1;
	} while (more > 0 && (size_t)n < bytes);
	return n > 0 ? n : more;
}

long wf_io_go_on_receiving(const struct wf_io_begun *b, void *buf, size_t bytes,
			   int flags, long n)
{
	if (!wf_io_is_cut_short(b, bytes, n) ||
	    (flags & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL ||
	    !may_wait(b->fd, flags) || !wf_descriptor_is_byte_stream(b->fd) ||
	    wf_descriptor_deadline(b->fd, SO_RCVTIMEO) != WF_FOREVER)
		return n;
	return recv_rest(b->fd, buf, bytes, flags, n, b->uses);
}

/* After n bytes or -EAGAIN. */
static long recv_waiting(int fd, void *buf, size_t bytes, int flags, long n,
			 struct sockaddr *addr, socklen_t *addr_bytes,
			 uint32_t uses)
{
	/* A stream tells no address, but that it has none. */
	if ((flags & MSG_WAITALL) != 0 && (n > 0 || addr == NULL) &&
	    wf_descriptor_is_byte_stream(fd))
		return recv_rest(fd, buf, bytes, flags, n > 0 ? n : 0, uses);
	return addr != NULL ? recv_with_address(fd, buf, bytes, flags, addr,
						addr_bytes) :
			      recv_later(fd, buf, bytes, flags, false);
}

/* First without waiting. */
static WF_NOINLINE long recv_now(int fd, void *buf, size_t bytes, int flags,
				 struct sockaddr *addr, socklen_t *addr_bytes)
{
	uint32_t uses = wf_descriptor_uses(fd);
	long n = wf_sys(SYS_recvfrom, fd, buf, bytes, flags | MSG_DONTWAIT,
			addr, addr_bytes);
	bool has_address;

	if (n != -EAGAIN &&
	    ((flags & MSG_WAITALL) == 0 || n <= 0 || (size_t)n >= bytes)) {
		wf_descriptor_was_tried(fd, false);
		return n;
	}
	if (n == -EAGAIN)
		flags = heeded(fd, flags);
	if (!may_wait(fd, flags))
		return n == -EAGAIN ? found_dry(fd) : n;
	if (n > 0 && !wf_descriptor_is_byte_stream(fd))
		return n;
	has_address = wf_descriptor_has_address(fd);
	wf_descriptor_was_tried(fd, !has_address);
	return has_address && addr == NULL ?
		       recv_at_address(fd, buf, bytes, flags) :
		       recv_waiting(fd, buf, bytes, flags, n, addr, addr_bytes,
				    uses);
}

long wf_io_recvfrom(int fd, void *buf, size_t bytes, int flags,
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
	uint32_t uses = wf_descriptor_uses(fd);
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
		    !may_wait(fd, heeded(fd, flags)))
			break;
		n = wf_io_recvmsg(fd, &messages[done].msg_hdr, one_flags);
		if (n == -ENOSYS && done > 0)
			n = wf_io_result(wf_real.recvmsg(
				fd, &messages[done].msg_hdr, one_flags));
		if (n < 0)
			break;
		messages[done++].msg_len = (unsigned int)n;
		/* Is the number the file that it was? */
		if (wf_descriptor_uses(fd) != uses)
			break;
	}
	if (done > 0 && timeout != NULL && put_left(timeout, deadline_ns) < 0)
		return -EFAULT;
	return done > 0 ? (int)done : (int)n;
}
