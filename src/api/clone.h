/* SPDX-License-Identifier: MIT */
/* Shared by clone() and syscall(SYS_clone). */
#ifndef WEFT_API_CLONE_H
#define WEFT_API_CLONE_H

/* A system call that may be a fork: returns what it returns, or -Exxx. */
long wf_clone_syscall(long nr, const long *args);

#endif
