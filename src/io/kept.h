/*
 * Descriptors that somebody waits for and the program does not know:
 * duplicates of what it has closed or is about to close, children. They are
 * weft's own.
 */
#ifndef WEFT_IO_KEPT_H
#define WEFT_IO_KEPT_H

#include <stdbool.h>

/* Where weft's own descriptors are not in the program's way. */
enum { WF_KEPT_HIGH_FD = 1000 };

/*
 * Makes the table of descriptors large enough for them: while the process has
 * one kernel thread that takes a microsecond, afterwards the kernel waits for
 * all CPUs, 10 ms or more, and whoever needs the first high one with it.
 */
void wf_kept_prepare(void);

/* A close-on-exec duplicate, a high one if there is room; -1: none. */
int wf_kept_make(int fd);
/* A new epoll set, or -Exxx. */
int wf_kept_make_set(void);
void wf_kept_close(int fd);
/* Is it about to be the program's number, or just has come to be? */
bool wf_kept_is_closing(int fd);

/* The least of them from `first` on; ~0U if there is none. */
unsigned int wf_kept_first(unsigned int first);

void wf_kept_fork_child(void);

#endif
