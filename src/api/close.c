/* SPDX-License-Identifier: MIT */
/*
 * Functions that close or replace descriptors. Requests that have not reached
 * the kernel name the descriptor's number, so the closing thread submits them
 * first (io/call/closing.h). Threads that wait for the file get a duplicate.
 * weft's private descriptors stay open; calls on their numbers fail with EBADF.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "api/api.h"
#include "api/close.h"
#include "io/call/closing.h"
#include "io/file/descriptor.h"
#include "libc/real.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "signal/memory.h"
#include "thread/kernel_state.h"

static void leave(void *fd)
{
	unsigned int number = *(unsigned int *)fd;

	wf_io_after_close(number, number);
}

void wf_close_begin(int *fd, struct wf_cleanup *cleanup)
{
	if (*fd < 0)
		return;
	wf_io_before_close((unsigned int)*fd, (unsigned int)*fd);
	wf_cleanup_begin_own(cleanup, leave, fd);
}

void wf_close_end(int *fd, struct wf_cleanup *cleanup)
{
	if (*fd < 0)
		return;
	wf_cleanup_end(cleanup);
	leave(fd);
}

WF_API(int, close, int fd)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int rc;

	if (wf_io_is_private(fd))
		return wf_api_errno(-EBADF);
	wf_close_begin(&fd, &cleanup);
	rc = wf_real.close(fd);
	wf_close_end(&fd, &cleanup);
	return rc;
}
WF_API_ALIAS(close, __close);

/* Prepares to make `to` a duplicate of `from`. Returns 0 or -Exxx. */
static int replace_begin(int from, int *to, struct wf_cleanup *cleanup)
{
	if (wf_io_is_private(from))
		return -EBADF;
	if (!wf_io_make_way(*to))
		return -EMFILE;
	wf_close_begin(to, cleanup);
	return 0;
}

static int replace_end(int *to, struct wf_cleanup *cleanup, int rc)
{
	wf_close_end(to, cleanup);
	/* weft's messages go where the program redirects its standard error. */
	if (rc == STDERR_FILENO && !wf_has_own_files())
		wf_os_stderr_init();
	return rc;
}

WF_API(int, dup2, int from, int to)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int err = replace_begin(from, &to, &cleanup);

	if (err < 0)
		return wf_api_errno(err);
	return replace_end(&to, &cleanup, wf_real.dup2(from, to));
}
WF_API_ALIAS(dup2, __dup2);

WF_API(int, dup3, int from, int to, int flags)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int err = replace_begin(from, &to, &cleanup);

	if (err < 0)
		return wf_api_errno(err);
	return replace_end(&to, &cleanup, wf_real.dup3(from, to, flags));
}

static bool is_limit(int name)
{
	/* with 64 bits these options have the same struct timeval */
	enum { RCVTIMEO_NEW = 66, SNDTIMEO_NEW = 67 };

	return name == SO_RCVTIMEO || name == SO_SNDTIMEO ||
	       name == RCVTIMEO_NEW || name == SNDTIMEO_NEW;
}

/*
 * A negative limit means not to wait, but the kernel reports it as 0, which is
 * no limit. So weft sets 1 us, the least that the kernel reports.
 */
static long set_limit(int fd, int name, const void *value, socklen_t bytes)
{
	struct timeval limit;

	wf_descriptor_limit_comes();
	if (bytes >= sizeof(limit) &&
	    wf_memory_get(&limit, value, sizeof(limit)) == 0 &&
	    limit.tv_sec < 0 && limit.tv_usec >= 0 && limit.tv_usec < 1000000) {
		limit = (struct timeval){ 0, 1 };
		value = &limit;
		bytes = sizeof(limit);
	}
	return wf_sys(SYS_setsockopt, fd, SOL_SOCKET, name, value, bytes);
}

/* weft notes time limits and low-water marks: its waits have to keep them. */
static long set_option(int fd, int level, int name, const void *value,
		       socklen_t bytes)
{
	int mark;

	if (level == SOL_SOCKET && is_limit(name))
		return set_limit(fd, name, value, bytes);
	if (level == SOL_SOCKET && name == SO_RCVLOWAT &&
	    bytes >= sizeof(mark) &&
	    wf_memory_get(&mark, value, sizeof(mark)) == 0 && mark > 1)
		wf_descriptor_mark_comes();
	return wf_sys(SYS_setsockopt, fd, level, name, value, bytes);
}

WF_API(int, setsockopt, int fd, int level, int name, const void *value,
       socklen_t bytes)
{
	return wf_api_errno((int)set_option(fd, level, name, value, bytes));
}

/*
 * Closes the numbers `first` to `last` except weft's private descriptors, part
 * by part. The flags are applied first, to an empty range: they may be invalid,
 * or unshare the table, even if no part is left to close.
 */
static int close_parts(unsigned int first, unsigned int last, int flags)
{
	int err = 0;

	if (flags != 0)
		err = (int)wf_sys(SYS_close_range, ~0U, ~0U, flags);
	if (err < 0)
		return err;
	while (first <= last) {
		unsigned int own = wf_io_first_private(first);
		unsigned int end = own <= last ? own : last + 1;

		if (end > first || own > last) {
			err = (int)wf_sys(SYS_close_range, first, end - 1,
					  flags);
			if (err < 0)
				return err;
		}
		if (own > last || own == ~0U)
			break;
		first = own + 1;
	}
	return 0;
}

static int close_all(unsigned int first, unsigned int last, int flags)
{
	/* The caller gets its own descriptor table, so it is bound. */
	bool is_private = (flags & CLOSE_RANGE_UNSHARE) != 0;
	/* Otherwise nothing changes in the table of the other threads. */
	bool closes = (flags & (CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) ==
		      0;
	int err;

	if (first > last)
		return -EINVAL;
	if (is_private) {
		err = wf_kernel_state_begin(WF_BOUND_KERNEL_STATE);
		if (err < 0)
			return err;
	}
	if (closes)
		wf_io_before_close(first, last);
	err = close_parts(first, last, flags);
	if (closes)
		wf_io_after_close(first, last);
	if (is_private)
		wf_kernel_state_files_end(err);
	return err;
}

WF_API(int, close_range, unsigned int first, unsigned int last, int flags)
{
	return wf_api_errno(close_all(first, last, flags));
}

WF_API(void, closefrom, int first)
{
	close_range(first > 0 ? (unsigned int)first : 0, ~0U, 0);
}

static long close_by_syscall(int fd)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	long err;

	if (wf_io_is_private(fd))
		return -EBADF;
	wf_close_begin(&fd, &cleanup);
	err = wf_sys(SYS_close, fd);
	wf_close_end(&fd, &cleanup);
	return err;
}

static long replace_by_syscall(long nr, const long *args)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int to = (int)args[1];
	int err = replace_begin((int)args[0], &to, &cleanup);

	if (err < 0)
		return err;
	return replace_end(&to, &cleanup,
			   (int)wf_sys(nr, args[0], args[1], args[2]));
}

long wf_close_syscall(long nr, const long *args)
{
	switch (nr) {
	case SYS_close:
		return close_by_syscall((int)args[0]);
	case SYS_close_range:
		return close_all((unsigned int)args[0], (unsigned int)args[1],
				 (int)args[2]);
	case SYS_setsockopt:
		return set_option((int)args[0], (int)args[1], (int)args[2],
				  (const void *)args[3], (socklen_t)args[4]);
	default:
		return replace_by_syscall(nr, args);
	}
}
