/* SPDX-License-Identifier: MIT */
/*
 * Prints one line to stderr, without malloc, stdio or locks.
 *
 *     wf_log("cannot map %zu bytes for stacks: error %d", size, err);
 *
 * Prints "weft: ", the text and a newline, in one write. May be called in a
 * signal handler, before the runtime exists, and on a 4 KiB stack. Formats: %d
 * %u %ld %lu %zu %x %lx %p %s %c %%. A line has at most 500 bytes; the rest is
 * dropped.
 */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

void wf_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Formats into buf[size] as above. Returns the length, which is less than size.
 */
size_t wf_format(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t wf_vformat(char *buf, size_t size, const char *fmt, va_list ap);

/* Prints the broken invariant, the function and the thread, and aborts. */
WF_COLD WF_NORETURN void wf_panic(const char *func, const char *what);

/*
 * Checks in all builds for faults that would corrupt memory or lose a thread.
 */
#define WF_CHECK(cond, what)                        \
	do {                                        \
		if (WF_UNLIKELY(!(cond)))           \
			wf_panic(__func__, (what)); \
	} while (0)

#ifdef WF_DEBUG
#define WF_ASSERT(cond) WF_CHECK(cond, #cond)
#else
#define WF_ASSERT(cond) ((void)0)
#endif

#endif
