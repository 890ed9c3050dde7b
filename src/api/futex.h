/* SPDX-License-Identifier: MIT */
/*
 * syscall(SYS_futex, ...) of the program, on the user futex.
 *
 *     rc = wf_futex_syscall(addr, op, val, timeout, addr2, val3);
 *
 * Waits and wakes with FUTEX_PRIVATE_FLAG use the table of the user futex;
 * all else is the kernel's, but a wake without the flag looks into the table
 * first. Arguments and results are those of futex(2), errors -Exxx; errno is
 * not touched. val2 is passed in the place of the timeout. Waits park; called
 * with in_runtime 0 on the thread's own stack or in a handler of the program's.
 */
#ifndef WEFT_API_FUTEX_H
#define WEFT_API_FUTEX_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

long wf_futex_syscall(uint32_t *addr, int op, uint32_t val,
		      const struct timespec *timeout_or_val2, uint32_t *addr2,
		      uint32_t val3);

/* The system call with these arguments: a kernel thread waits in it. */
long wf_futex_waitv(const long *args);

/* The same for futex_wake, futex_wait and futex_requeue; false: nr is none. */
bool wf_futex2_syscall(long nr, const long *args, long *ret);

#endif
