/*
 * Descriptors that go away or are replaced. What was pushed on them and has
 * not reached the kernel names the number, so it goes first; weft's own
 * descriptors are not there as far as the program can tell.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "io/descriptor.h"
#include "io/own.h"
#include "libc/real.h"
#include "os/sys.h"

static void forget(int fd)
{
	if (fd >= 0)
		wf_io_close_comes((unsigned int)fd, (unsigned int)fd);
	wf_descriptor_forget(fd);
}

WF_API(int, close, int fd)
{
	if (wf_io_is_own(fd))
		return wf_api_errno(-EBADF);
	forget(fd);
	return wf_real.close(fd);
}
WF_API_ALIAS(close, __close);

WF_API(int, dup2, int from, int to)
{
	if (wf_io_is_own(from))
		return wf_api_errno(-EBADF);
	if (!wf_io_make_way(to))
		return wf_api_errno(-EMFILE);
	forget(to);
	return wf_real.dup2(from, to);
}
WF_API_ALIAS(dup2, __dup2);

WF_API(int, dup3, int from, int to, int flags)
{
	if (wf_io_is_own(from))
		return wf_api_errno(-EBADF);
	if (!wf_io_make_way(to))
		return wf_api_errno(-EMFILE);
	forget(to);
	return wf_real.dup3(from, to, flags);
}

/* A limit on the time of a wait is news. */
WF_API(int, setsockopt, int fd, int level, int name, const void *value,
       socklen_t bytes)
{
	if (level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO))
		wf_descriptor_limit_comes();
	return wf_real.setsockopt(fd, level, name, value, bytes);
}

/* Part by part around weft's own. */
WF_API(int, close_range, unsigned int first, unsigned int last, int flags)
{
	if (first > last)
		return wf_api_errno(-EINVAL);
	wf_io_close_comes(first, last);
	while (first <= last) {
		unsigned int own = wf_io_first_own(first);
		unsigned int end = own <= last ? own : last + 1;

		for (unsigned int fd = first; fd < end && fd < 65536; fd++)
			wf_descriptor_forget((int)fd);
		if (end > first || own > last) {
			int err = (int)wf_sys(SYS_close_range, first, end - 1,
					      flags);
			if (err < 0)
				return wf_api_errno(err);
		}
		if (own > last || own == ~0U)
			return 0;
		first = own + 1;
	}
	return 0;
}

WF_API(void, closefrom, int first)
{
	close_range(first > 0 ? (unsigned int)first : 0, ~0U, 0);
}
