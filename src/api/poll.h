/* SPDX-License-Identifier: MIT */
/*
 * System calls that wait for descriptors, for syscall().
 *
 *     n = wf_poll_syscall(SYS_poll, args);
 */
#ifndef WEFT_API_POLL_H
#define WEFT_API_POLL_H

/*
 * Makes SYS_poll or SYS_epoll_wait, according to nr. Returns the result or
 * -Exxx. Parks; no cancellation point.
 */
long wf_poll_syscall(long nr, const long *args);

#endif
