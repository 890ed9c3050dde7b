/* SPDX-License-Identifier: MIT */
/*
 * sendfile, splice, tee and vmsplice. A pipe can be asked not to wait
 * (SPLICE_F_NONBLOCK), so the thread makes that call first, and a worker the
 * one that waits. Sockets ignore the flag, so a worker makes each splice on a
 * blocking socket.
 *
 * A sendfile to a stream socket waits until the socket is writable, and then
 * sends no more at a time than the socket has room for. poll calls a socket
 * writable only when a third of its buffer is free. So if the wait takes 10 ms,
 * the thread fills the socket with copies of the file's bytes, by sends that do
 * not wait.
 */
#include "io/call/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/backend/call.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "os/clock.h"
#include "os/mem.h"
#include "os/sys.h"
#include "signal/memory.h"

/*
 * Makes the call first without waiting; argument number `flags` has its flags.
 */
static long ask_first(struct wf_call *c, int flags)
{
	long given = c->args[flags];
	long n;

	c->args[flags] = given | SPLICE_F_NONBLOCK;
	n = wf_call_make(c);
	c->args[flags] = given;
	if (n != -EAGAIN || (given & SPLICE_F_NONBLOCK) != 0)
		return n;
	/* If the program made the pipe non-blocking, the worker gets EAGAIN,
	 * too. */
	return wf_call_wait(c);
}

/*
 * How many bytes a socket certainly takes at once when poll calls it writable:
 * a third of its buffer is free then. If it has less room after all, the
 * carrier blocks and loses its VP.
 */
static size_t room_of(int fd)
{
	const int least = WF_PAGE;
	int bytes = wf_descriptor_option(fd, SO_SNDBUF, 0);

	return (size_t)(bytes / 4 > least ? bytes / 4 : least);
}

/*
 * A sendfile to a stream socket. It ends when `to` becomes another file's
 * number.
 */
struct sending {
	struct wf_call *c;
	int to, from;
	off_t *offset; /* the program's, or NULL */
	size_t bytes, done;
	uint32_t generation, nr_handlers;
	int64_t deadline_ns; /* from SO_SNDTIMEO */
	bool is_full;	     /* fill() has filled the socket */
};

static bool is_same(const struct sending *s)
{
	return wf_descriptor_generation(s->to) == s->generation;
}

/*
 * Reads the next bytes of the file. Returns how many, 0 at its end, or -Exxx:
 * none are there without waiting.
 */
static long read_next(const struct sending *s, char *buf, size_t bytes,
		      off_t at)
{
	size_t left = s->bytes - s->done;
	struct iovec iov = { buf, bytes < left ? bytes : left };
	long n = wf_sys(SYS_preadv2, s->from, &iov, 1, at, 0L, RWF_NOWAIT);

	/* tmpfs, FUSE and others do not support RWF_NOWAIT: this may wait for a
	 * disk. */
	if (n == -EOPNOTSUPP)
		n = wf_call_on(s->from,
			       WF_CALL(SYS_pread64, s->from, (long)iov.iov_base,
				       (long)iov.iov_len, at),
			       false);
	return n;
}

/* The position of the next byte in the file, or -Exxx. */
static off_t position_of(const struct sending *s)
{
	off_t at;

	if (s->offset == NULL)
		return wf_sys(SYS_lseek, s->from, 0L, SEEK_CUR);
	return wf_memory_get(&at, s->offset, sizeof(at)) == 0 ? at : -EFAULT;
}

static bool set_position(const struct sending *s, off_t at)
{
	if (s->offset == NULL)
		return wf_sys(SYS_lseek, s->from, at, SEEK_SET) == at;
	return wf_memory_put(s->offset, &at, sizeof(at)) == 0;
}

/* Sends copies of the file's bytes until the socket is full. */
static void fill(struct sending *s)
{
	enum { PIECE = 64 * 1024 };
	char *buf = wf_os_reserve(PIECE);
	off_t at = position_of(s);

	s->is_full = true;
	while (buf != NULL && at >= 0 && s->done < s->bytes && is_same(s) &&
	       !wf_io_has_error(s->to)) {
		long n = read_next(s, buf, PIECE, at);

		if (n == 0)
			s->bytes = s->done; /* the end */
		if (n > 0)
			n = wf_sys(SYS_sendto, s->to, buf, n,
				   MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
		if (n <= 0)
			break;
		at += n;
		s->done += (size_t)n;
		if (!set_position(s, at))
			break;
	}
	if (buf != NULL)
		wf_os_release(buf, PIECE);
}

/* Is a wait pointless, since the file is at its end or cannot be read? */
static bool is_over(struct sending *s)
{
	off_t at = position_of(s);
	char next;
	long n = at < 0 ? at : read_next(s, &next, 1, at);

	if (n == 0)
		s->bytes = s->done;
	return n == 0 || n == -EBADF || n == -EISDIR || n == -EFAULT;
}

/*
 * Returns 0 if the socket is writable now or nothing is left to send, 1 if it
 * became writable after a wait. Else -Exxx, why the wait has ended: -EAGAIN is
 * the limit of 10 ms, the deadline, or a handler with SA_RESTART.
 */
static int wait_writable(struct sending *s)
{
	const int64_t most_ns = 10 * WF_NS_PER_MS;
	struct wf_request ready = wf_io_readiness(s->to, POLLOUT);
	struct pollfd now = { s->to, POLLOUT, 0 };
	int64_t until;
	int n;

	if (wf_sys(SYS_poll, &now, 1, 0) > 0 || is_over(s))
		return 0;
	until = wf_os_now() + most_ns;
	if (s->is_full || until > s->deadline_ns)
		until = s->deadline_ns;
	n = wf_io_run_partial(&ready, until, s->done == 0, &s->nr_handlers);
	if (wf_io_restarts(n, s->done == 0, s->deadline_ns))
		return -EAGAIN;
	return n < 0 ? n : 1;
}

/*
 * 0, or the error that a send reports after a wait. After a partial transfer
 * the socket keeps its error for the next call, and -EPIPE only ends this call.
 */
static int after_wait(const struct sending *s)
{
	if (!wf_io_has_error(s->to))
		return 0;
	return s->done > 0 ? -EPIPE : -wf_descriptor_option(s->to, SO_ERROR, 0);
}

/*
 * Waits until there is room. 0 or -Exxx; by then fill() may have sent
 * everything. The peer may close between two waits, so what counts is whether
 * the thread has waited at all.
 */
static int make_room(struct sending *s)
{
	bool has_waited = false;
	int n;

	do {
		n = wait_writable(s);
		has_waited |= n != 0;
		if (n >= 0 || s->is_full || n == -ECANCELED)
			break;
		fill(s);
	} while (n == -EAGAIN && s->done < s->bytes &&
		 !wf_io_is_over(s->deadline_ns));
	if (n < 0)
		return n;
	s->is_full = false;
	if (!is_same(s))
		return -EBADF;
	return has_waited ? after_wait(s) : 0;
}

static long send_in_parts(struct sending *s)
{
	size_t room = room_of(s->to);
	long n;

	do {
		size_t left, part;

		n = make_room(s);
		if (n < 0 || s->done == s->bytes)
			break;
		left = s->bytes - s->done;
		part = left < room ? left : room;
		s->c->args[3] = (long)part;
		n = wf_call_on(s->from, s->c, false);
		if (n > 0)
			s->done += (size_t)n;
		if (n < (long)part)
			break;
	} while (s->done < s->bytes);
	return s->done > 0 ? (long)s->done : n;
}

long wf_io_sendfile(int to, int from, off_t *offset, size_t bytes)
{
	struct wf_call *c =
		WF_CALL(SYS_sendfile, to, from, (long)offset, (long)bytes);

	if (!wf_descriptor_is_stream(to))
		return wf_call_on(from, c, false);
	if (bytes == 0 || wf_descriptor_is_nonblocking(to))
		return wf_call_make(c);
	if (!wf_descriptor_is_stream_socket(to))
		return wf_call_wait(c);
	return send_in_parts(&(struct sending){
		.c = c,
		.to = to,
		.from = from,
		.offset = offset,
		.bytes = bytes < WF_IO_MOST_BYTES ? bytes : WF_IO_MOST_BYTES,
		.generation = wf_descriptor_generation(to),
		.nr_handlers = wf_self->nr_handlers,
		.deadline_ns = wf_descriptor_deadline(to, SO_SNDTIMEO),
	});
}

static bool is_blocking_socket(int fd)
{
	return wf_descriptor_is_stream(fd) && wf_descriptor_is_socket(fd) &&
	       !wf_descriptor_is_nonblocking(fd);
}

long wf_io_splice(int from, off_t *from_offset, int to, off_t *to_offset,
		  size_t bytes, unsigned int flags)
{
	struct wf_call *c = WF_CALL(SYS_splice, from, (long)from_offset, to,
				    (long)to_offset, (long)bytes, flags);

	if (is_blocking_socket(from) || is_blocking_socket(to))
		return wf_call_wait(c);
	return ask_first(c, 5);
}

long wf_io_tee(int from, int to, size_t bytes, unsigned int flags)
{
	return ask_first(WF_CALL(SYS_tee, from, to, (long)bytes, flags), 3);
}

long wf_io_vmsplice(int fd, const struct iovec *iov, size_t nr,
		    unsigned int flags)
{
	return ask_first(WF_CALL(SYS_vmsplice, fd, (long)iov, (long)nr, flags),
			 3);
}
