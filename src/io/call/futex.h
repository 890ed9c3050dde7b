/* SPDX-License-Identifier: MIT */
/*
 * Waits, without holding a VP, for a word that other processes may wake: the
 * kernel's futex without the private flag.
 *
 *     if (wf_io_can_wait_futex())
 *             rc = wf_io_futex_wait(word, 0, FUTEX_BITSET_MATCH_ANY, deadline);
 *     else
 *             ...             the plain system call, or libc's function
 */
#ifndef WEFT_IO_CALL_FUTEX_H
#define WEFT_IO_CALL_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if the calling thread can wait without holding a VP. The caller has
 * in_runtime 0.
 */
bool wf_io_can_wait_futex(void);

/*
 * Can the calling thread, which is about to wait, do so without holding a VP?
 * Makes its VP's ring, or checks that a worker is free. The answer is void if
 * the thread's VP changes or other threads take the last workers. The caller
 * has in_runtime 0.
 */
bool wf_io_will_wait_futex(void);

/*
 * Waits as FUTEX_WAIT_BITSET, until a deadline (os/deadline.h). Without a ring
 * and without a free worker it makes the plain system call. The caller has
 * in_runtime 0. Returns the system call's result (0, -EAGAIN, -EFAULT, ...), or
 * -ETIMEDOUT, -EINTR, -ERESTART or -ECANCELED as wf_request_run. A wake that
 * the waker has counted is never lost.
 */
int wf_io_futex_wait(const void *word, uint32_t expected, uint32_t bits,
		     int64_t deadline_ns);

#endif
