/* SPDX-License-Identifier: MIT */
/*
 * The kernel's futex, on which weft's kernel threads sleep.
 *
 *     while (wf_load_acquire(&word) == 0)
 *             wf_os_futex_wait(&word, 0, WF_OS_FOREVER);
 *
 * Private unless a function says otherwise.
 */
#ifndef WEFT_OS_FUTEX_H
#define WEFT_OS_FUTEX_H

#include <stdbool.h>

#include "base/atomic.h"

#define WF_OS_FOREVER INT64_MAX

/*
 * Sleeps while *word == expected, at most until the deadline (os/deadline.h).
 * Returns 0, -EAGAIN, -EINTR or -ETIMEDOUT.
 */
int wf_os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		     int64_t deadline_ns);
/*
 * Sleeps in the same way on a word of the program, with a set of bits and flags
 * of futex(2).
 */
int wf_os_futex_wait_bits(const void *word, int flags, uint32_t expected,
			  uint32_t bits, int64_t deadline_ns);
/*
 * Sleeps as wf_os_futex_wait, but only while *shared == shared_expected as
 * well; other processes wake that word. Returns 1 if `shared` was woken,
 * otherwise as above or -EFAULT.
 */
int wf_os_futex_wait_beside(_Atomic uint32_t *word, uint32_t expected,
			    const void *shared, uint32_t shared_expected,
			    int64_t deadline_ns);
/* Does the kernel have futex_waitv (Linux 5.16 and later)? */
bool wf_os_futex_can_wait_beside(void);

int wf_os_futex_wake(_Atomic uint32_t *word, int nr);
/* Wakes threads in wf_os_futex_wait_bits without FUTEX_PRIVATE_FLAG. */
int wf_os_futex_wake_shared(_Atomic uint32_t *word, int nr);

#endif
