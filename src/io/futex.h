/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a word that other processes may wake: the kernel's futex, without
 * the private flag, and without holding a VP.
 *
 *     if (wf_io_can_wait_futex())
 *             rc = wf_io_futex_wait(word, 0, FUTEX_BITSET_MATCH_ANY, deadline);
 *     else
 *             ...             the plain system call, or libc's function
 */
#ifndef WEFT_IO_FUTEX_H
#define WEFT_IO_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

/* May the calling thread wait so? */
bool wf_io_can_wait_futex(void);

/*
 * The same, for a thread that is about to wait: it tries to have a ring or
 * finds a worker free. So the answer holds unless the thread moves to another
 * VP or others take the last workers. in_runtime 0.
 */
bool wf_io_will_wait_futex(void);

/*
 * FUTEX_WAIT_BITSET until a deadline (os/deadline.h); a plain system call where
 * neither a ring nor a worker is to be had. Called with in_runtime 0. Returns
 * what the system call returns (0, -EAGAIN, -EFAULT, ...), or as wf_request_run
 * -ETIMEDOUT, -EINTR, -ERESTART, -ECANCELED. A wake that the waker counted is
 * never lost.
 */
int wf_io_futex_wait(const void *word, uint32_t expected, uint32_t bits,
		     int64_t deadline_ns);

#endif
