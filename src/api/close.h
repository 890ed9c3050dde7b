/* SPDX-License-Identifier: MIT */
/* Closing and replacing descriptors, by syscall() and by libc itself. */
#ifndef WEFT_API_CLOSE_H
#define WEFT_API_CLOSE_H

#include "libc/cleanup.h"

/* SYS_close, SYS_dup2, SYS_dup3, SYS_close_range, SYS_setsockopt; as the kernel
 * returns. */
long wf_close_syscall(long nr, const long *args);

/*
 * libc is about to close fd, which may be none, and has closed it: what waits
 * for its file goes on waiting for that. errno stays. The end comes also if the
 * caller leaves libc's function by a jump or by its end:
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
