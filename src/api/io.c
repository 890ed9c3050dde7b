/* SPDX-License-Identifier: MIT */
/*
 * Calls that read, write, send, receive, accept and connect. A thread that can
 * park waits without its VP, by functions of io/. A bound or foreign thread
 * makes libc's call, and makes it again if only a signal of weft has ended it.
 */
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "api/api.h"
#include "api/park.h"
#include "api/signalfd.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "libc/real.h"

WF_API(ssize_t, read, int fd, void *buf, size_t bytes)
{
	uint64_t mask;

	if (wf_signalfd_is_one(fd, &mask))
		return wf_signalfd_read(fd, mask, buf, bytes);
	/* For 0 bytes readv, unlike read, does not call the file. */
	if (bytes == 0 || !wf_park_is_size(bytes))
		return wf_real.read(fd, buf, bytes);
	return WF_PARK_OR(wf_real.read(fd, buf, bytes),
			  wf_io_read(fd, buf, bytes));
}
WF_API_ALIAS(read, __read);

WF_API(ssize_t, __read_chk, int fd, void *buf, size_t bytes, size_t room)
{
	if (bytes > room)
		return wf_real.__read_chk(fd, buf, bytes, room);
	return read(fd, buf, bytes);
}

WF_API(ssize_t, readv, int fd, const struct iovec *iov, int nr)
{
	return WF_PARK_PARTS_OR(wf_real.readv(fd, iov, nr), iov, nr,
				wf_io_readv(fd, iov, nr));
}

/*
 * The state before a call of a thread that does not park. A signal may cut the
 * call short although no handler of the program runs on this thread. The thread
 * then sends or receives the remaining bytes.
 */
static struct wf_io_begun begin(int fd)
{
	return (struct wf_io_begun){
		.fd = fd,
		.nr_handlers = wf_self != NULL ? wf_self->nr_handlers : 0,
		.generation = wf_descriptor_count_generations(fd),
	};
}

static ssize_t write_natively(int fd, const void *buf, size_t bytes)
{
	const struct iovec iov = { (void *)buf, bytes };
	struct wf_io_begun b = begin(fd);
	ssize_t n = wf_real.write(fd, buf, bytes);

	return wf_io_go_on_sending(&b, &iov, 1, 0, n);
}

static ssize_t writev_natively(int fd, const struct iovec *iov, int nr)
{
	struct wf_io_begun b = begin(fd);
	ssize_t n = wf_real.writev(fd, iov, nr);

	return n <= 0 ? n : wf_io_go_on_sending(&b, iov, (size_t)nr, 0, n);
}

static ssize_t sendto_natively(int fd, const void *buf, size_t bytes, int flags,
			       const struct sockaddr *addr,
			       socklen_t addr_bytes)
{
	const struct iovec iov = { (void *)buf, bytes };
	struct wf_io_begun b = begin(fd);
	ssize_t n = wf_real.sendto(fd, buf, bytes, flags, addr, addr_bytes);

	return wf_io_go_on_sending(&b, &iov, 1, flags, n);
}

static ssize_t sendmsg_natively(int fd, const struct msghdr *msg, int flags)
{
	struct wf_io_begun b = begin(fd);
	ssize_t n = wf_real.sendmsg(fd, msg, flags);

	return n <= 0 ? n :
			wf_io_go_on_sending(&b, msg->msg_iov, msg->msg_iovlen,
					    flags, n);
}

static ssize_t recv_natively(int fd, void *buf, size_t bytes, int flags)
{
	struct wf_io_begun b = begin(fd);
	ssize_t n = wf_real.recv(fd, buf, bytes, flags);

	return wf_io_go_on_receiving(&b, buf, bytes, flags, n);
}

WF_API(ssize_t, write, int fd, const void *buf, size_t bytes)
{
	/* write of 0 bytes may send an empty datagram; writev sends none. */
	if (bytes == 0 || !wf_park_is_size(bytes))
		return wf_real.write(fd, buf, bytes);
	return WF_PARK_OR(write_natively(fd, buf, bytes),
			  wf_io_write(fd, buf, bytes));
}
WF_API_ALIAS(write, __write);

WF_API(ssize_t, writev, int fd, const struct iovec *iov, int nr)
{
	return WF_PARK_PARTS_OR(writev_natively(fd, iov, nr), iov, nr,
				wf_io_writev(fd, iov, nr));
}

/* libc's functions would call read and write inside libc. */
WF_API(int, eventfd_read, int fd, eventfd_t *ret_value)
{
	return read(fd, ret_value, sizeof(*ret_value)) == sizeof(*ret_value) ?
		       0 :
		       -1;
}

WF_API(int, eventfd_write, int fd, eventfd_t value)
{
	return write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

WF_API(ssize_t, recv, int fd, void *buf, size_t bytes, int flags)
{
	return WF_PARK_OR(recv_natively(fd, buf, bytes, flags),
			  wf_io_recvfrom(fd, buf, bytes, flags, NULL, NULL));
}

WF_API(ssize_t, __recv_chk, int fd, void *buf, size_t bytes, size_t room,
       int flags)
{
	if (bytes > room)
		return wf_real.__recv_chk(fd, buf, bytes, room, flags);
	return recv(fd, buf, bytes, flags);
}

WF_API(ssize_t, recvfrom, int fd, void *restrict buf, size_t bytes, int flags,
       struct sockaddr *restrict addr, socklen_t *restrict addr_bytes)
{
	return WF_PARK_OR(
		wf_real.recvfrom(fd, buf, bytes, flags, addr, addr_bytes),
		wf_io_recvfrom(fd, buf, bytes, flags, addr, addr_bytes));
}

WF_API(ssize_t, __recvfrom_chk, int fd, void *restrict buf, size_t bytes,
       size_t room, int flags, struct sockaddr *restrict addr,
       socklen_t *restrict addr_bytes)
{
	if (bytes > room)
		return wf_real.__recvfrom_chk(fd, buf, bytes, room, flags, addr,
					      addr_bytes);
	return recvfrom(fd, buf, bytes, flags, addr, addr_bytes);
}

WF_API(ssize_t, recvmsg, int fd, struct msghdr *msg, int flags)
{
	return WF_PARK_OR(wf_real.recvmsg(fd, msg, flags),
			  wf_io_recvmsg(fd, msg, flags));
}

WF_API(ssize_t, send, int fd, const void *buf, size_t bytes, int flags)
{
	return WF_PARK_OR(sendto_natively(fd, buf, bytes, flags, NULL, 0),
			  wf_io_sendto(fd, buf, bytes, flags, NULL, 0));
}
WF_API_ALIAS(send, __send);

WF_API(ssize_t, sendto, int fd, const void *buf, size_t bytes, int flags,
       const struct sockaddr *addr, socklen_t addr_bytes)
{
	return WF_PARK_OR(
		sendto_natively(fd, buf, bytes, flags, addr, addr_bytes),
		wf_io_sendto(fd, buf, bytes, flags, addr, addr_bytes));
}

WF_API(ssize_t, sendmsg, int fd, const struct msghdr *msg, int flags)
{
	return WF_PARK_OR(sendmsg_natively(fd, msg, flags),
			  wf_io_sendmsg(fd, msg, flags));
}

WF_API(int, recvmmsg, int fd, struct mmsghdr *messages, unsigned int nr,
       int flags, struct timespec *timeout)
{
	return (int)WF_PARK_OR(
		wf_real.recvmmsg(fd, messages, nr, flags, timeout),
		wf_io_recvmmsg(fd, messages, nr, flags, timeout));
}

WF_API(int, sendmmsg, int fd, struct mmsghdr *messages, unsigned int nr,
       int flags)
{
	return (int)WF_PARK_OR(wf_real.sendmmsg(fd, messages, nr, flags),
			       wf_io_sendmmsg(fd, messages, nr, flags));
}

WF_API(int, accept, int fd, struct sockaddr *restrict addr,
       socklen_t *restrict addr_bytes)
{
	return (int)WF_PARK_OR(wf_real.accept(fd, addr, addr_bytes),
			       wf_io_accept(fd, addr, addr_bytes, 0));
}

WF_API(int, accept4, int fd, struct sockaddr *restrict addr,
       socklen_t *restrict addr_bytes, int flags)
{
	return (int)WF_PARK_OR(wf_real.accept4(fd, addr, addr_bytes, flags),
			       wf_io_accept(fd, addr, addr_bytes, flags));
}

WF_API(int, connect, int fd, const struct sockaddr *addr, socklen_t addr_bytes)
{
	return (int)WF_PARK_OR(wf_real.connect(fd, addr, addr_bytes),
			       wf_io_connect(fd, addr, addr_bytes));
}
WF_API_ALIAS(connect, __connect);
