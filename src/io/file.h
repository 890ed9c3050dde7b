/*
 * Reads and writes at a position of the caller's. As io/io.h has it; no
 * handler ends them, as in the kernel.
 */
#ifndef WEFT_IO_FILE_H
#define WEFT_IO_FILE_H

#include <stdint.h>
#include <sys/uio.h>

long wf_io_preadv(int fd, const struct iovec *iov, int nr, int64_t at);
long wf_io_pwritev(int fd, const struct iovec *iov, int nr, int64_t at);

#endif
