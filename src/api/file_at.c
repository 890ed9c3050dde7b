/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes at a position. A read of a file on a disk may wait, so a
 * thread that can park makes it by io/call/file.h.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <sys/uio.h>
#include <unistd.h>

#include "api/park.h"
#include "io/call/file.h"
#include "libc/real.h"

WF_API(ssize_t, pread, int fd, void *buf, size_t bytes, off_t at)
{
	struct iovec iov = { buf, bytes };

	/* For 0 bytes preadv, unlike pread, does not call the file. */
	if (bytes == 0 || !wf_park_is_size(bytes))
		return wf_real.pread(fd, buf, bytes, at);
	return WF_PARK_OR(wf_real.pread(fd, buf, bytes, at),
			  wf_io_preadv(fd, &iov, 1, at));
}
WF_API_ALIAS(pread, pread64);
WF_API_ALIAS(pread, __pread64);

WF_API(ssize_t, __pread_chk, int fd, void *buf, size_t bytes, off_t at,
       size_t room)
{
	if (bytes > room)
		return wf_real.__pread_chk(fd, buf, bytes, at, room);
	return pread(fd, buf, bytes, at);
}
WF_API_ALIAS(__pread_chk, __pread64_chk);

WF_API(ssize_t, preadv, int fd, const struct iovec *iov, int nr, off_t at)
{
	return WF_PARK_PARTS_OR(wf_real.preadv(fd, iov, nr, at), iov, nr,
				wf_io_preadv(fd, iov, nr, at));
}
WF_API_ALIAS(preadv, preadv64);

WF_API(ssize_t, pwrite, int fd, const void *buf, size_t bytes, off_t at)
{
	struct iovec iov = { (void *)buf, bytes };

	if (bytes == 0 || !wf_park_is_size(bytes))
		return wf_real.pwrite(fd, buf, bytes, at);
	return WF_PARK_OR(wf_real.pwrite(fd, buf, bytes, at),
			  wf_io_pwritev(fd, &iov, 1, at));
}
WF_API_ALIAS(pwrite, pwrite64);
WF_API_ALIAS(pwrite, __pwrite64);

WF_API(ssize_t, pwritev, int fd, const struct iovec *iov, int nr, off_t at)
{
	return WF_PARK_PARTS_OR(wf_real.pwritev(fd, iov, nr, at), iov, nr,
				wf_io_pwritev(fd, iov, nr, at));
}
WF_API_ALIAS(pwritev, pwritev64);

/* Calls with flags are libc's. */
WF_API(ssize_t, preadv2, int fd, const struct iovec *iov, int nr, off_t at,
       int flags)
{
	if (flags != 0)
		return wf_real.preadv2(fd, iov, nr, at, flags);
	return at == -1 ? readv(fd, iov, nr) : preadv(fd, iov, nr, at);
}
WF_API_ALIAS(preadv2, preadv64v2);

WF_API(ssize_t, pwritev2, int fd, const struct iovec *iov, int nr, off_t at,
       int flags)
{
	if (flags != 0)
		return wf_real.pwritev2(fd, iov, nr, at, flags);
	return at == -1 ? writev(fd, iov, nr) : pwritev(fd, iov, nr, at);
}
WF_API_ALIAS(pwritev2, pwritev64v2);
