/*
 * Descriptors that go away or are replaced, and those that are weft's own: as
 * far as the program can tell these are not there.
 */
#ifndef WEFT_IO_OWN_H
#define WEFT_IO_OWN_H

#include <stdbool.h>

/* The numbers are about to be closed or replaced; they have been. in_runtime
 * 0. */
void wf_io_close_comes(unsigned int first, unsigned int last);
void wf_io_close_done(unsigned int first, unsigned int last);

bool wf_io_is_own(int fd);
/* The least of weft's own descriptors from `first` on; ~0U if there is none. */
unsigned int wf_io_first_own(unsigned int first);
/* The program wants to have a descriptor of this number. False: there is no
 * other for weft's own. */
bool wf_io_make_way(int fd);

#endif
