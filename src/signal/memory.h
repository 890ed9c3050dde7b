/* SPDX-License-Identifier: MIT */
/*
 * Accesses the program's memory where weft does the kernel's work. A bad
 * pointer gives an error there and raises no signal.
 *
 *     struct timespec ts;
 *
 *     if (wf_memory_get(&ts, request, sizeof(ts)) < 0)
 *             return -EFAULT;
 *
 * Call with in_runtime 0, when the kernel's mask is the thread's. The functions
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

/* The signals that the kernel raises for a fault. */
#define WF_MEMORY_SIGNALS (WF_SIGNAL_BIT(SIGSEGV) | WF_SIGNAL_BIT(SIGBUS))

/*
 * The signals of these two that have another handler than weft's now; action.c
 * updates it.
 */
extern _Atomic uint64_t wf_memory_uncaught;

/*
 * Copies from or to memory of the program. Returns 0, or -EFAULT: then it may
 * have copied a part.
 */
int wf_memory_get(void *to, const void *from, size_t bytes);
int wf_memory_put(void *to, const void *from, size_t bytes);

/* True if the memory can be read. The caller then reads it directly. */
bool wf_memory_is_readable(const void *at, size_t bytes);
/* True if s is readable up to its end, or for `most` bytes. */
bool wf_memory_is_string(const char *s, size_t most);
/*
 * True if the memory can be written. Makes a system call for each page. `at` is
 * a multiple of four.
 */
bool wf_memory_is_writable(void *at, size_t bytes);

/*
 * As wf_deadline_from_rel, for a `timeout` that the program points to. Also
 * returns -EFAULT.
 */
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
