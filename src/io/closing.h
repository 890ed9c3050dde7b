/* SPDX-License-Identifier: MIT */
/*
 * The steps around the close of descriptors, and the descriptors that are
 * private to weft: to the program these are not there.
 */
#ifndef WEFT_IO_CLOSING_H
#define WEFT_IO_CLOSING_H

#include <stdbool.h>

/* Around the close or replacement of the numbers, by the thread that closes
 * them. in_runtime 0. */
void wf_io_before_close(unsigned int first, unsigned int last);
void wf_io_after_close(unsigned int first, unsigned int last);

bool wf_io_is_private(int fd);
/* The least private descriptor from `first` on; ~0U if there is none. */
unsigned int wf_io_first_private(unsigned int first);
/* Frees the number for the program. False: no other number is free for the
 * private descriptor there. */
bool wf_io_make_way(int fd);

#endif
