/* SPDX-License-Identifier: MIT */
/*
 * System calls of the program that make a process, for syscall().
 *
 *     pid = wf_clone_syscall(SYS_clone, args);
 */
#ifndef WEFT_API_SYSCALL_CLONE_H
#define WEFT_API_SYSCALL_CLONE_H

/*
 * Makes SYS_clone, SYS_clone3, SYS_fork or SYS_vfork, according to nr. Runs
 * weft's fork handlers if the child has a copy of the memory. Returns in the
 * parent and in the child, as the system call: the result or -Exxx.
 */
long wf_clone_syscall(long nr, const long *args);

#endif
