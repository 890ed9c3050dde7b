/* SPDX-License-Identifier: MIT */
/* System calls that wait for semaphores of System V. */
#ifndef WEFT_API_SYSV_H
#define WEFT_API_SYSV_H

/* SYS_semop, SYS_semtimedop: the result or -Exxx. */
long wf_sysv_syscall(long nr, const long *args);

#endif
