/* SPDX-License-Identifier: MIT */
/* System calls that wait for descriptors. */
#ifndef WEFT_API_POLL_H
#define WEFT_API_POLL_H

/* SYS_poll, SYS_epoll_wait: the result or -Exxx. No cancellation point. */
long wf_poll_syscall(long nr, const long *args);

#endif
