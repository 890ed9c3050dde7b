/* SPDX-License-Identifier: MIT */
/* Writing to a descriptor that is the program's and not ours. */
#ifndef WEFT_OS_OUTPUT_H
#define WEFT_OS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Notes which file standard error is: at the start, and when the program has
 * put another there. Until then weft's lines go to descriptor 2 whatever it is.
 */
void wf_os_stderr_init(void);

/*
 * A kernel thread that has the program's descriptors for as long as the process
 * lives: what those say who have not goes where its standard error goes.
 */
void wf_os_stderr_shared_by(int tid);

/* Is it still that file? A program that has closed it may have a file of its
 * own there, as whatever was opened next. */
bool wf_os_stderr_is_there(void);

/*
 * Writes all of it, or gives up. Without signals: a reader that is gone does
 * not end the process. Safe in a signal handler; blocks as write(2) does.
 */
void wf_os_write_quietly(int fd, const char *bytes, size_t nr);

#endif
