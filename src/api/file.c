/* SPDX-License-Identifier: MIT */
/*
 * Calls on files: locks, writing to disks, and copying between descriptors. A
 * thread that can park waits by a function of io/, and its VP runs other
 * threads. Any other thread makes libc's call.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "api/park.h"
#include "io/backend/call.h"
#include "io/call/copy.h"
#include "io/call/file.h"
#include "io/call/lock.h"
#include "libc/real.h"

/* --- locks ---------------------------------------------------------------- */

WF_API(int, flock, int fd, int operation)
{
	return (int)WF_PARK_UNCANCELLED_OR(wf_real.flock(fd, operation),
					   wf_io_flock(fd, operation));
}

WF_API(int, fcntl, int fd, int command, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (command != F_SETLKW && command != F_OFD_SETLKW)
		return wf_real.fcntl(fd, command, arg);
	return (int)WF_PARK_OR(wf_real.fcntl(fd, command, arg),
			       wf_io_lock_record(fd, command, arg));
}
WF_API_ALIAS(fcntl, __fcntl);
WF_API_ALIAS(fcntl, fcntl64);

WF_API(int, lockf, int fd, int command, off_t bytes)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_CUR,
		.l_len = bytes,
	};

	if (command != F_LOCK)
		return wf_real.lockf(fd, command, bytes);
	return fcntl(fd, F_SETLKW, &lock);
}
WF_API_ALIAS(lockf, lockf64);

/* --- to the disk ---------------------------------------------------------- */

WF_API(int, fsync, int fd)
{
	return (int)WF_PARK_OR(wf_real.fsync(fd),
			       wf_io_sync(fd, WF_CALL(SYS_fsync, fd)));
}

WF_API(int, fdatasync, int fd)
{
	return (int)WF_PARK_OR(wf_real.fdatasync(fd),
			       wf_io_sync(fd, WF_CALL(SYS_fdatasync, fd)));
}

WF_API(int, syncfs, int fd)
{
	return (int)WF_PARK_UNCANCELLED_OR(
		wf_real.syncfs(fd),
		wf_call_on(fd, WF_CALL(SYS_syncfs, fd), true));
}

WF_API(void, sync, void)
{
	(void)WF_PARK_UNCANCELLED_OR((wf_real.sync(), 0),
				     wf_call_wait(WF_CALL(SYS_sync, 0)));
}

WF_API(int, msync, void *start, size_t bytes, int flags)
{
	if ((flags & MS_SYNC) == 0)
		return wf_real.msync(start, bytes, flags);
	return (int)WF_PARK_OR(wf_real.msync(start, bytes, flags),
			       wf_call_wait(WF_CALL(SYS_msync, (long)start,
						    (long)bytes, flags)));
}

WF_API(int, sync_file_range, int fd, off64_t from, off64_t bytes,
       unsigned int flags)
{
	return (int)WF_PARK_OR(
		wf_real.sync_file_range(fd, from, bytes, flags),
		wf_call_on(fd,
			   WF_CALL(SYS_sync_file_range, fd, from, bytes, flags),
			   true));
}

WF_API(int, fallocate, int fd, int mode, off_t from, off_t bytes)
{
	return (int)WF_PARK_OR(
		wf_real.fallocate(fd, mode, from, bytes),
		wf_call_on(fd, WF_CALL(SYS_fallocate, fd, mode, from, bytes),
			   false));
}
WF_API_ALIAS(fallocate, fallocate64);

/* Returns 0 or Exxx. */
WF_API(int, posix_fallocate, int fd, off_t from, off_t bytes)
{
	struct wf_call *c = WF_CALL(SYS_fallocate, fd, 0, from, bytes);
	long n = wf_io_can_park() ? wf_call_on(fd, c, false) : -ENOSYS;

	/* Where the file system refuses it, libc's function writes zeros. */
	return n == -ENOSYS || n == -EOPNOTSUPP ?
		       wf_real.posix_fallocate(fd, from, bytes) :
		       -(int)n;
}
WF_API_ALIAS(posix_fallocate, posix_fallocate64);

WF_API(int, ftruncate, int fd, off_t bytes)
{
	return (int)WF_PARK_UNCANCELLED_OR(
		wf_real.ftruncate(fd, bytes),
		wf_call_on(fd, WF_CALL(SYS_ftruncate, fd, bytes), false));
}
WF_API_ALIAS(ftruncate, ftruncate64);

WF_API(int, truncate, const char *path, off_t bytes)
{
	return (int)WF_PARK_UNCANCELLED_OR(
		wf_real.truncate(path, bytes),
		wf_call_wait(WF_CALL(SYS_truncate, (long)path, bytes)));
}
WF_API_ALIAS(truncate, truncate64);

/* --- between descriptors -------------------------------------------------- */

WF_API(ssize_t, sendfile, int to, int from, off_t *offset, size_t bytes)
{
	return WF_PARK_UNCANCELLED_OR(wf_real.sendfile(to, from, offset, bytes),
				      wf_io_sendfile(to, from, offset, bytes));
}
WF_API_ALIAS(sendfile, sendfile64);

WF_API(ssize_t, copy_file_range, int from, off64_t *from_offset, int to,
       off64_t *to_offset, size_t bytes, unsigned int flags)
{
	return WF_PARK_OR(
		wf_real.copy_file_range(from, from_offset, to, to_offset, bytes,
					flags),
		wf_call_on(to,
			   WF_CALL(SYS_copy_file_range, from, (long)from_offset,
				   to, (long)to_offset, (long)bytes, flags),
			   false));
}

WF_API(ssize_t, splice, int from, off64_t *from_offset, int to,
       off64_t *to_offset, size_t bytes, unsigned int flags)
{
	return WF_PARK_OR(
		wf_real.splice(from, from_offset, to, to_offset, bytes, flags),
		wf_io_splice(from, from_offset, to, to_offset, bytes, flags));
}

WF_API(ssize_t, tee, int from, int to, size_t bytes, unsigned int flags)
{
	return WF_PARK_OR(wf_real.tee(from, to, bytes, flags),
			  wf_io_tee(from, to, bytes, flags));
}

WF_API(ssize_t, vmsplice, int fd, const struct iovec *iov, size_t nr,
       unsigned int flags)
{
	return WF_PARK_OR(wf_real.vmsplice(fd, iov, nr, flags),
			  wf_io_vmsplice(fd, iov, nr, flags));
}
