/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of files on disks. As io/io.h has it; no handler ends them,
 * as in the kernel.
 */
#ifndef WEFT_IO_FILE_H
#define WEFT_IO_FILE_H

#include <stdint.h>
#include <sys/uio.h>

#include "io/call.h"

/* At the file's own position; it is no stream. */
long wf_io_file_readv(int fd, const struct iovec *iov, int nr);
long wf_io_file_writev(int fd, const struct iovec *iov, int nr);

/* At the caller's. */
long wf_io_preadv(int fd, const struct iovec *iov, int nr, int64_t at);
long wf_io_pwritev(int fd, const struct iovec *iov, int nr, int64_t at);

/* A call that waits until what has been written to fd is on its disk. */
long wf_io_sync(int fd, struct wf_call *c);

#endif
