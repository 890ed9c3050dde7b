/* SPDX-License-Identifier: MIT */
/*
 * Makes the program's syscall(SYS_futex, ...) on the user futex.
 *
 *     rc = wf_futex_syscall(addr, op, val, timeout, addr2, val3);
 *
 * Waits and wakes with FUTEX_PRIVATE_FLAG use the table of the user futex. All
 * other operations are the kernel's, but a wake without the flag first wakes
 * waiters of the table. Arguments and results are those of futex(2), errors
 * -Exxx; errno does not change. val2 is passed in place of the timeout. Waits
 * park. The caller has in_runtime 0, and is on the thread's own stack or in a
 * signal handler of the program.
 */
#ifndef WEFT_API_SYSCALL_FUTEX_H
#define WEFT_API_SYSCALL_FUTEX_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

long wf_futex_syscall(uint32_t *addr, int op, uint32_t val,
		      const struct timespec *timeout_or_val2, uint32_t *addr2,
		      uint32_t val3);

/*
 * Makes SYS_futex_waitv with these arguments. The thread's carrier waits in it.
 */
long wf_futex_waitv(const long *args);

/*
 * Makes futex_wake, futex_wait or futex_requeue, according to nr; the result or
 * -Exxx is in *ret. False: nr is another system call.
 */
bool wf_futex2_syscall(long nr, const long *args, long *ret);

#endif
