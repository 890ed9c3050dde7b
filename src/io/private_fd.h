/* SPDX-License-Identifier: MIT */
/*
 * Private descriptors: weft waits for them and the program does not know of
 * them. They are duplicates of descriptors that the program has closed or is
 * about to close, epoll sets, and children.
 */
#ifndef WEFT_IO_PRIVATE_FD_H
#define WEFT_IO_PRIVATE_FD_H

#include <stdbool.h>

/* From here on private descriptors are not in the program's way. */
enum { WF_PRIVATE_FD_HIGH = 1000 };

/*
 * Makes the table of descriptors large enough for them. While the process has
 * one kernel thread that takes a microsecond. Afterwards the kernel waits for
 * all CPUs, 10 ms or more, and the thread that needs the first high one waits,
 * too.
 */
void wf_private_fd_prepare(void);

/* A close-on-exec duplicate, a high one if there is room; -1: none. */
int wf_private_fd_duplicate(int fd);
/* A new epoll set, or -Exxx. */
int wf_private_fd_make_set(void);
void wf_private_fd_close(int fd);
/* Is it about to be the program's number, or just has come to be? */
bool wf_private_fd_is_closing(int fd);

/* The least of them from `first` on; ~0U if there is none. */
unsigned int wf_private_fd_first(unsigned int first);

void wf_private_fd_fork_child(void);

#endif
