/* The kernel's futex, private, as weft's own kernel threads sleep on it. */
#ifndef WEFT_OS_FUTEX_H
#define WEFT_OS_FUTEX_H

#include "base/atomic.h"

#define WF_OS_FOREVER INT64_MAX

/*
 * Sleeps while *word == expected, at most until the CLOCK_MONOTONIC deadline.
 * Returns 0, -EAGAIN, -EINTR or -ETIMEDOUT.
 */
int wf_os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		     int64_t deadline_ns);
int wf_os_futex_wake(_Atomic uint32_t *word, int nr);

#endif
