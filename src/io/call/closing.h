/* SPDX-License-Identifier: MIT */
/*
 * The steps around the close of descriptors, and weft's private descriptors,
 * which to the program are not open.
 *
 *     if (wf_io_is_private(fd))
 *             return -EBADF;
 *     wf_io_before_close(fd, fd);
 *     rc = close(fd);
 *     wf_io_after_close(fd, fd);
 */
#ifndef WEFT_IO_CALL_CLOSING_H
#define WEFT_IO_CALL_CLOSING_H

#include <stdbool.h>

/*
 * The thread that closes or replaces the numbers calls both. The first may
 * yield. The caller has in_runtime 0.
 */
void wf_io_before_close(unsigned int first, unsigned int last);
void wf_io_after_close(unsigned int first, unsigned int last);

/* Is fd a private descriptor? May yield the CPU. */
bool wf_io_is_private(int fd);
/* The least private descriptor from `first` on; ~0U: there is none. */
unsigned int wf_io_first_private(unsigned int first);
/*
 * Moves the private descriptor fd, if it is one, to another number, so that the
 * program can replace fd. False: no other number is free, or a wait has pinned
 * the descriptor there.
 */
bool wf_io_make_way(int fd);

#endif
