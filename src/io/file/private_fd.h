/* SPDX-License-Identifier: MIT */
/*
 * Private descriptors: descriptors of weft's that the program does not know.
 * They are epoll sets, duplicates of descriptors that the program has closed or
 * is about to close, and references to child processes.
 *
 *     int fd = wf_private_fd_duplicate(number);       -1: none
 *     ...                                             wait for it
 *     wf_private_fd_close(fd);
 */
#ifndef WEFT_IO_FILE_PRIVATE_FD_H
#define WEFT_IO_FILE_PRIVATE_FD_H

#include <stdbool.h>

/*
 * Private descriptors have numbers from here on, if there is room: the program
 * expects low numbers for its files.
 */
enum { WF_PRIVATE_FD_HIGH = 1000 };

/*
 * Makes the kernel's table of descriptors large enough for high numbers. While
 * the process has one kernel thread, this takes a microsecond. Later the kernel
 * waits for all CPUs, 10 ms or more, and the thread that makes the first high
 * number waits with it.
 */
void wf_private_fd_prepare(void);

/*
 * Returns a close-on-exec duplicate, with a high number if there is room; -1 if
 * there can be none.
 */
int wf_private_fd_duplicate(int fd);
/* A new epoll set, or -Exxx. */
int wf_private_fd_make_set(void);
void wf_private_fd_close(int fd);
/*
 * Returns true while wf_private_fd_close closes fd: the program may already
 * have a file of that number, or get it soon.
 */
bool wf_private_fd_is_closing(int fd);

/*
 * Returns the least private descriptor from `first` on; ~0U if there is none.
 */
unsigned int wf_private_fd_first(unsigned int first);

void wf_private_fd_fork_child(void);

#endif
