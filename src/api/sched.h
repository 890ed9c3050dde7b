/* SPDX-License-Identifier: MIT */
/*
 * System calls for the scheduling of threads, for syscall(): those of the
 * functions in api/sched.c, and SYS_sched_setattr and SYS_sched_getattr.
 *
 *     rc = wf_sched_syscall(SYS_sched_yield, args);
 */
#ifndef WEFT_API_SCHED_H
#define WEFT_API_SCHED_H

/*
 * Does what the system call nr does: returns its result or -Exxx. The caller
 * has in_runtime 0.
 */
long wf_sched_syscall(long nr, const long *args);

#endif
