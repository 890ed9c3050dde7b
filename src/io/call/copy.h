/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes between descriptors, without holding a VP while the call waits.
 * The caller has in_runtime 0. Returns as the functions of io/io.h.
 *
 *     n = wf_io_sendfile(socket, file, &offset, bytes);
 */
#ifndef WEFT_IO_CALL_COPY_H
#define WEFT_IO_CALL_COPY_H

#include <sys/types.h>
#include <sys/uio.h>

long wf_io_sendfile(int to, int from, off_t *offset, size_t bytes);
long wf_io_splice(int from, off_t *from_offset, int to, off_t *to_offset,
		  size_t bytes, unsigned int flags);
long wf_io_tee(int from, int to, size_t bytes, unsigned int flags);
long wf_io_vmsplice(int fd, const struct iovec *iov, size_t nr,
		    unsigned int flags);

#endif
