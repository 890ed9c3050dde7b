/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of files on disks, and the calls that wait for the disk.
 * They wait without holding a VP, and return as the functions of io/io.h do.
 * The caller has in_runtime 0. No handler ends the calls, as in the kernel.
 *
 *     n = wf_io_preadv(fd, iov, nr, offset);
 */
#ifndef WEFT_IO_CALL_FILE_H
#define WEFT_IO_CALL_FILE_H

#include <stdint.h>
#include <sys/uio.h>

#include "io/backend/call.h"

/* Read and write at the file's own position. The file is no stream. */
long wf_io_file_readv(int fd, const struct iovec *iov, int nr);
long wf_io_file_writev(int fd, const struct iovec *iov, int nr);

/* `at` bytes from the beginning of the file. */
long wf_io_preadv(int fd, const struct iovec *iov, int nr, int64_t at);
long wf_io_pwritev(int fd, const struct iovec *iov, int nr, int64_t at);

/* Makes c, a call that waits until data written to fd is on the disk. */
long wf_io_sync(int fd, struct wf_call *c);

#endif
