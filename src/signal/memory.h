/* SPDX-License-Identifier: MIT */
/*
 * The program's memory, where weft looks at it in the kernel's place: there a
 * pointer that leads nowhere is an error and raises no signal.
 *
 *     struct timespec ts;
 *
 *     if (wf_memory_get(&ts, request, sizeof(ts)) < 0)
 *             return -EFAULT;
 *
 * All are for in_runtime 0, when the kernel's mask is the thread's own. They
 * do not block, but may touch a page for the first time.
 */
#ifndef WEFT_SIGNAL_MEMORY_H
#define WEFT_SIGNAL_MEMORY_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/atomic.h"
#include "signal/queue.h"
#include "wait/sleep.h"

/* What the kernel sends for a fault. */
#define WF_MEMORY_SIGNALS (WF_SIGNAL_BIT(SIGSEGV) | WF_SIGNAL_BIT(SIGBUS))

/* Those of them whose handler is not weft's just now; kept by action.c. */
extern _Atomic uint64_t wf_memory_uncaught;

/* 0 or -EFAULT: a part may have been copied. */
int wf_memory_get(void *to, const void *from, size_t bytes);
int wf_memory_put(void *to, const void *from, size_t bytes);

/* For what is then read as it is. */
bool wf_memory_is_readable(const void *at, size_t bytes);
/* Up to its end, or for `most` bytes. */
bool wf_memory_is_string(const char *s, size_t most);
/* By a system call for each page. `at` is a multiple of four. */
bool wf_memory_is_writable(void *at, size_t bytes);

/* As wf_deadline_from_rel, or -EFAULT; `timeout` is the program's. */
static inline int wf_memory_get_deadline(const struct timespec *timeout,
					 int64_t *ret_deadline_ns)
{
	struct timespec ts;

	if (timeout == NULL)
		return wf_deadline_from_rel(NULL, ret_deadline_ns);
	if (wf_memory_get(&ts, timeout, sizeof(ts)) < 0)
		return -EFAULT;
	return wf_deadline_from_rel(&ts, ret_deadline_ns);
}

#endif
