/*
 * Pipes can be asked whether they would wait (SPLICE_F_NONBLOCK); sockets pay
 * no heed to that, so what blocks on one is a server's from the start.
 */
#include "io/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "io/call.h"
#include "io/descriptor.h"
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

long wf_io_sendfile(int to, int from, off_t *offset, size_t bytes)
{
	struct wf_call *c =
		WF_CALL(SYS_sendfile, to, from, (long)offset, (long)bytes);

	if (!wf_descriptor_is_stream(to))
		return wf_call_on(from, c, false);
	return wf_descriptor_is_nonblocking(to) ? wf_call_make(c) :
						  wf_call_wait(c);
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
