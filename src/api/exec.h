/* SPDX-License-Identifier: MIT */
/* Shared by the exec family and syscall(SYS_execve). */
#ifndef WEFT_API_EXEC_H
#define WEFT_API_EXEC_H

/* The system call with six arguments; returns only -Exxx. */
long wf_exec_syscall(long nr, const long *args);

#endif
