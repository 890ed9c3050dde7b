/* SPDX-License-Identifier: MIT */
/*
 * The system calls that execute a program, for syscall() and api/exec.c.
 *
 *     err = wf_exec_syscall(SYS_execve, args);
 */
#ifndef WEFT_API_EXEC_H
#define WEFT_API_EXEC_H

/*
 * Makes SYS_execve or SYS_execveat, according to nr, with six arguments.
 * Returns only if the call fails: -Exxx.
 */
long wf_exec_syscall(long nr, const long *args);

#endif
