/* SPDX-License-Identifier: MIT */
/*
 * Writes to descriptors of the program, such as its standard error.
 *
 *     if (wf_os_stderr_is_there())
 *             wf_os_write_quietly(2, line, strlen(line));
 */
#ifndef WEFT_OS_OUTPUT_H
#define WEFT_OS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Notes which file standard error is: at the start, and when the program has
 * replaced it. Before the first call, weft writes its lines to descriptor 2,
 * whatever file that is.
 */
void wf_os_stderr_init(void);

/*
 * tid is a kernel thread that has the program's descriptors as long as the
 * process lives. A kernel thread with another descriptor table writes weft's
 * lines to the standard error of that one.
 */
void wf_os_stderr_shared_by(int tid);

/*
 * True if descriptor 2 is still the file that wf_os_stderr_init has noted. If
 * the program has closed it, the descriptor may be any file that the program
 * opened next.
 */
bool wf_os_stderr_is_there(void);

/*
 * Writes all bytes, or gives up at an error. Raises no signal: SIGPIPE from a
 * closed pipe does not end the process. Safe in a signal handler; blocks as
 * write(2) does.
 */
void wf_os_write_quietly(int fd, const char *bytes, size_t nr);

/*
 * Returns a copy of the program's standard error, for a kernel thread with a
 * descriptor table of its own. The caller closes the copy. Returns -Exxx if
 * descriptor 2 no longer names the file that it named at the start.
 */
int wf_os_stderr_copy(void);

/* Writes a line to standard error in the same way, wherever that is now. */
void wf_os_log_write(const char *line, size_t len);

#endif
