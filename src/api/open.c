/* SPDX-License-Identifier: MIT */
/*
 * Calls that open files, and the streams of libc, which open and close inside.
 * An open that is known to take long is made by an I/O worker while the thread
 * parks (io/call/open.h). Other opens are libc's calls, and weft notes how long
 * they took. Paths below /proc are translated (api/proc/proc.h).
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/cancel.h"
#include "api/close.h"
#include "api/proc/proc.h"
#include "io/call/open.h"
#include "io/file/descriptor.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/carrier.h"

static bool has_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

static int open_at(int dirfd, const char *path, int flags, mode_t mode)
{
	struct wf_proc_path proc;
	struct wf_open o;
	int n = wf_proc_open(path, flags, false);

	if (n >= 0) {
		wf_descriptor_forget(n);
		return n;
	}
	path = wf_proc_path(path, &proc);
	o = wf_open_of(dirfd, path, flags, mode);
	if (!wf_io_can_park())
		return wf_real.openat(dirfd, path, flags, mode);
	n = wf_open_may_wait(&o) ? WF_CANCEL_POINT(wf_open_wait(&o)) : -ENOSYS;
	if (n != -ENOSYS)
		return wf_api_errno(n);
	n = wf_real.openat(dirfd, path, flags, mode);
	wf_open_made(&o, n);
	return n;
}

/* The argument `mode` behind flags, or 0 if the caller passes none. */
#define MODE_AFTER(flags)                            \
	({                                           \
		mode_t mode_ = 0;                    \
		va_list ap_;                         \
		if (has_mode(flags)) {               \
			va_start(ap_, flags);        \
			mode_ = va_arg(ap_, mode_t); \
			va_end(ap_);                 \
		}                                    \
		mode_;                               \
	})

WF_API(int, open, const char *path, int flags, ...)
{
	return open_at(AT_FDCWD, path, flags, MODE_AFTER(flags));
}
WF_API_ALIAS(open, __open);
WF_API_ALIAS(open, open64);
WF_API_ALIAS(open, __open64);

WF_API(int, openat, int dirfd, const char *path, int flags, ...)
{
	return open_at(dirfd, path, flags, MODE_AFTER(flags));
}
WF_API_ALIAS(openat, openat64);

WF_API(int, creat, const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
WF_API_ALIAS(creat, creat64);

/* Calls without a mode; libc aborts if the flags need one. */
WF_API(int, __open_2, const char *path, int flags)
{
	if (has_mode(flags))
		return wf_real.__open_2(path, flags);
	return open_at(AT_FDCWD, path, flags, 0);
}
WF_API_ALIAS(__open_2, __open64_2);

WF_API(int, __openat_2, int dirfd, const char *path, int flags)
{
	if (has_mode(flags))
		return wf_real.__openat_2(dirfd, path, flags);
	return open_at(dirfd, path, flags, 0);
}
WF_API_ALIAS(__openat_2, __openat64_2);

/* --- streams -------------------------------------------------------------- */

/* The flags for a mode string, as in libc; -1: only libc can open it. */
static int flags_of(const char *mode)
{
	const int most = 7;
	int flags;

	switch (mode[0]) {
	case 'r':
		flags = O_RDONLY;
		break;
	case 'w':
		flags = O_WRONLY | O_CREAT | O_TRUNC;
		break;
	case 'a':
		flags = O_WRONLY | O_CREAT | O_APPEND;
		break;
	default:
		return -1;
	}
	for (int i = 1; i < most && mode[i] != '\0'; i++) {
		if (mode[i] == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (mode[i] == 'x')
			flags |= O_EXCL;
		else if (mode[i] == 'e')
			flags |= O_CLOEXEC;
		else if (mode[i] == ',') /* a character set */
			return -1;
	}
	return flags;
}

static FILE *stream_of(int fd, const char *mode)
{
	FILE *stream = fdopen(fd, mode);

	if (stream == NULL)
		wf_sys(SYS_close, fd);
	return stream;
}

WF_API(FILE *, fopen, const char *restrict path, const char *restrict mode)
{
	int flags = flags_of(mode), n = wf_proc_open(path, flags, true);
	struct wf_proc_path proc;
	struct wf_open o;
	FILE *stream;

	if (n >= 0) {
		wf_descriptor_forget(n);
		return stream_of(n, mode);
	}
	n = -ENOSYS;
	path = wf_proc_path(path, &proc);
	o = wf_open_of(AT_FDCWD, path, flags, 0666);
	if (o.flags < 0 || !wf_io_can_park())
		return wf_real.fopen(path, mode);
	if (wf_open_may_wait(&o))
		n = WF_CANCEL_POINT(wf_open_wait(&o));
	if (n != -ENOSYS)
		return n < 0 ? (wf_api_errno(n), NULL) : stream_of(n, mode);
	stream = wf_real.fopen(path, mode);
	wf_open_made(&o, stream != NULL ? fileno_unlocked(stream) : -1);
	return stream;
}
WF_API_ALIAS(fopen, fopen64);

/*
 * Returns the descriptor of a stream that libc is about to close. Then libc's
 * mkstemp, for example, may open the same number without weft. errno does not
 * change.
 */
static int number_of(FILE *stream)
{
	int saved_errno = errno, fd = fileno_unlocked(stream);

	errno = saved_errno;
	return fd;
}

WF_API(int, fclose, FILE *stream)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int fd = number_of(stream), rc;

	wf_close_begin(&fd, &cleanup);
	rc = wf_real.fclose(stream);
	wf_close_end(&fd, &cleanup);
	return rc;
}

WF_API(int, pclose, FILE *stream)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int fd = number_of(stream), rc;

	/* pclose first closes the descriptor, then waits for the child. */
	wf_close_begin(&fd, &cleanup);
	wf_close_end(&fd, &cleanup);
	rc = wf_real.pclose(stream);
	wf_descriptor_forget(fd);
	return rc;
}

WF_API(FILE *, freopen, const char *restrict path, const char *restrict mode,
       FILE *restrict stream)
{
	WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
	int fd = number_of(stream);
	FILE *again;

	wf_close_begin(&fd, &cleanup);
	again = wf_real.freopen(path, mode, stream);
	wf_close_end(&fd, &cleanup);
	/* As after dup2 (close.c), weft's messages go to the new standard
	 * error. */
	if (again != NULL && number_of(again) == STDERR_FILENO &&
	    !wf_has_own_files())
		wf_os_stderr_init();
	return again;
}
WF_API_ALIAS(freopen, freopen64);
