/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol.h"

union any {
	struct sockaddr any;
	struct sockaddr_un un;
	struct sockaddr_in in;
};

/* 1 to 65535, or 0 if the text is not a port. */
static uint16_t parse_port(const char *text)
{
	char *end;
	long port = strtol(text, &end, 10);

	return *end == '\0' && port > 0 && port <= UINT16_MAX ? (uint16_t)port :
								0;
}

/* The size of the address, or 0 if the text is not an address. */
static socklen_t parse(const char *address, union any *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (strncmp(address, "unix:", 5) == 0 &&
	    strlen(address + 5) < sizeof(ret->un.sun_path)) {
		ret->un.sun_family = AF_UNIX;
		strcpy(ret->un.sun_path, address + 5);
		return sizeof(ret->un);
	}
	if (strncmp(address, "tcp:", 4) == 0) {
		ret->in.sin_family = AF_INET;
		ret->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		ret->in.sin_port = htons(parse_port(address + 4));
		if (ret->in.sin_port != 0)
			return sizeof(ret->in);
	}
	errno = EINVAL;
	return 0;
}

static int failed(int fd)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}

/* Binds to a path. Replaces a socket that a server has left behind. */
static int bind_at(int fd, const char *address, const union any *a,
		   socklen_t size)
{
	int rc = bind(fd, &a->any, size), other;

	if (rc == 0 || errno != EADDRINUSE || a->any.sa_family != AF_UNIX)
		return rc;
	other = kv_stream_connect(address);
	if (other >= 0)
		close(other);
	if (other >= 0 || errno != ECONNREFUSED) {
		errno = EADDRINUSE;
		return -1;
	}
	unlink(a->un.sun_path);
	return bind(fd, &a->any, size);
}

int kv_stream_listen(const char *address)
{
	union any a;
	socklen_t size = parse(address, &a);
	int fd, yes = 1;

	if (size == 0)
		return -1;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind_at(fd, address, &a, size) != 0 || listen(fd, 128) != 0)
		return failed(fd);
	return fd;
}

int kv_stream_connect(const char *address)
{
	union any a;
	socklen_t size = parse(address, &a);
	int fd, yes = 1;

	if (size == 0)
		return -1;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, &a.any, size) != 0)
		return failed(fd);
	if (a.any.sa_family == AF_INET)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return fd;
}

int kv_stream_send(int fd, const void *message, size_t size)
{
	kv_frame frame = (kv_frame)size;
	struct iovec parts[2] = { { &frame, sizeof(frame) },
				  { (void *)message, size } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	while (m.msg_iovlen > 0) {
		ssize_t nr = sendmsg(fd, &m, MSG_NOSIGNAL);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -1;
		while (m.msg_iovlen > 0 && (size_t)nr >= m.msg_iov->iov_len) {
			nr -= (ssize_t)m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		if (m.msg_iovlen > 0) {
			m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + nr;
			m.msg_iov->iov_len -= (size_t)nr;
		}
	}
	return 0;
}

int kv_stream_receive(int fd, void *message, size_t capacity, size_t *ret_size)
{
	char buffer[sizeof(kv_frame) + sizeof(struct kv_request)];
	size_t nr_read = 0, wanted = sizeof(kv_frame);
	kv_frame frame = 0;

	/* There is never more than one message on its way. */
	while (nr_read < wanted) {
		ssize_t nr =
			read(fd, buffer + nr_read, sizeof(buffer) - nr_read);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return -1;
		nr_read += (size_t)nr;
		if (nr_read >= sizeof(frame)) {
			memcpy(&frame, buffer, sizeof(frame));
			if (frame > capacity ||
			    frame > sizeof(buffer) - sizeof(frame))
				return -1;
			wanted = sizeof(frame) + frame;
		}
	}
	memcpy(message, buffer + sizeof(frame), frame);
	*ret_size = frame;
	return 0;
}
