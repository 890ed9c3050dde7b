/* SPDX-License-Identifier: MIT */
/* What syscall() does for the numbers of the functions in api/sched.c, and for
 * SYS_sched_setattr and SYS_sched_getattr, which have none. */
#ifndef WEFT_API_SCHED_H
#define WEFT_API_SCHED_H

/* As the system call: its result or -Exxx. in_runtime 0. */
long wf_sched_syscall(long nr, const long *args);

#endif
