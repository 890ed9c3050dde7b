/* SPDX-License-Identifier: MIT */
/*
 * Closes and replaces descriptors, for syscall() and for functions of libc that
 * do so inside.
 */
#ifndef WEFT_API_CLOSE_H
#define WEFT_API_CLOSE_H

#include "libc/cleanup.h"

/*
 * Makes SYS_close, SYS_dup2, SYS_dup3, SYS_close_range or SYS_setsockopt,
 * according to nr. Returns the result or -Exxx.
 */
long wf_close_syscall(long nr, const long *args);

/*
 * The caller calls these before and after a function of libc that closes *fd.
 * Threads that wait for the file of *fd continue to wait for it. If *fd is
 * less than 0, nothing happens. errno does not change. wf_close_end's work is
 * done, too, if the thread leaves libc's function by a jump or by its exit:
 *
 *     WF_CLEANUP struct wf_cleanup cleanup = WF_CLEANUP_NONE;
 *
 *     wf_close_begin(&fd, &cleanup);
 *     rc = wf_real.close(fd);
 *     wf_close_end(&fd, &cleanup);
 */
void wf_close_begin(int *fd, struct wf_cleanup *cleanup);
void wf_close_end(int *fd, struct wf_cleanup *cleanup);

#endif
