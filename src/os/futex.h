/* SPDX-License-Identifier: MIT */
/* The kernel's futex, private, as weft's own kernel threads sleep on it. */
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
/* The same with a word of the program's, a bit set, and flags of futex(2). */
int wf_os_futex_wait_bits(const void *word, int flags, uint32_t expected,
			  uint32_t bits, int64_t deadline_ns);
/*
 * The same beside a word that other processes wake: sleeps while that is
 * `expected`, too. 1: it was `shared` that was woken. Else as above, -EFAULT.
 */
int wf_os_futex_wait_beside(_Atomic uint32_t *word, uint32_t expected,
			    const void *shared, uint32_t shared_expected,
			    int64_t deadline_ns);
/* Since Linux 5.16. */
bool wf_os_futex_can_wait_beside(void);

int wf_os_futex_wake(_Atomic uint32_t *word, int nr);
/* Who sleeps by wf_os_futex_wait_bits without FUTEX_PRIVATE_FLAG. */
int wf_os_futex_wake_shared(_Atomic uint32_t *word, int nr);

#endif
