/* SPDX-License-Identifier: MIT */
/*
 * System calls that wait for semaphores of System V, for syscall().
 *
 *     rc = wf_sysv_syscall(SYS_semop, args);
 */
#ifndef WEFT_API_SYSV_H
#define WEFT_API_SYSV_H

/*
 * Makes SYS_semop or SYS_semtimedop, as nr says. Returns the result or -Exxx.
 */
long wf_sysv_syscall(long nr, const long *args);

#endif
