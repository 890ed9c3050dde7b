/*
 * Pipes can be asked whether they would wait (SPLICE_F_NONBLOCK); sockets pay
 * no heed to that, so what blocks on one is a server's from the start. But
 * sendfile is given no more at a time than a socket has room for.
 */
#include "io/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "io/call.h"
#include "io/descriptor.h"
#include "io/wait.h"
#include "os/mem.h"
#include "os/sys.h"

/* Makes the call, whose flags are its argument number `flags`. */
static long ask_first(struct wf_call *c, int flags)
{
	long given = c->args[flags];
	long n;

	c->args[flags] = given | SPLICE_F_NONBLOCK;
	n = wf_call_make(c);
	c->args[flags] = given;
	if (n != -EAGAIN || (given & SPLICE_F_NONBLOCK) != 0)
		return n;
	/* One that the program made non-blocking says EAGAIN again. */
	return wf_call_wait(c);
}

/*
 * What a socket takes at once when poll calls it writable: a third of its
 * buffer is free then. Should it not be so a carrier waits, and is rescued.
 */
static size_t room_of(int fd)
{
	const int least = WF_PAGE;
	int bytes = wf_descriptor_option(fd, SO_SNDBUF, 0);

	return (size_t)(bytes / 4 > least ? bytes / 4 : least);
}

/* 0, or why it is not waited for any more. As wf_io_run_part. */
static int wait_writable(int fd, int64_t deadline, bool is_first,
			 uint32_t *nr_handlers)
{
	struct wf_request ready = wf_io_readiness(fd, POLLOUT);
	struct pollfd now = { fd, POLLOUT, 0 };
	int n;

	if (wf_sys(SYS_poll, &now, 1, 0) > 0)
		return 0;
	n = wf_io_run_part(&ready, deadline, is_first, nr_handlers);
	return n < 0 ? n : 0;
}

/* As long as the number is the file that it was. */
static long send_in_parts(struct wf_call *c, int to, int from, size_t bytes)
{
	int64_t deadline = wf_descriptor_deadline(to, SO_SNDTIMEO);
	uint32_t uses = wf_descriptor_uses(to);
	uint32_t nr_handlers = wf_self->nr_handlers;
	size_t room = room_of(to), done = 0;
	long n;

	do {
		size_t part = bytes - done < room ? bytes - done : room;

		n = wait_writable(to, deadline, done == 0, &nr_handlers);
		if (n == 0 && wf_descriptor_uses(to) != uses)
			n = -EBADF;
		if (n < 0)
			break;
		c->args[3] = (long)part;
		n = wf_call_on(from, c, false);
		if (n > 0)
			done += (size_t)n;
		if (n < (long)part)
			break;
	} while (done < bytes);
	return done > 0 ? (long)done : n;
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
	return send_in_parts(c, to, from,
			     bytes < WF_IO_MOST_BYTES ? bytes :
							WF_IO_MOST_BYTES);
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
