/* SPDX-License-Identifier: MIT */
/*
 * One clear line on stderr, without malloc, stdio or locks.
 *
 *     wf_log("cannot map %zu bytes for stacks: error %d", size, err);
 *
 * Prints "weft: " in front and a newline behind, in one write. Safe in a
 * signal handler, before the runtime exists, and on a 4 KiB stack. Formats:
 * %d %u %ld %lu %zu %x %lx %p %s %c %%; lines are cut at 500 bytes.
 */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

void wf_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Formats into buf[size] as above; returns the length, always < size. */
size_t wf_format(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t wf_vformat(char *buf, size_t size, const char *fmt, va_list ap);

/* Says which invariant broke, where and in which thread, and aborts. */
WF_COLD WF_NORETURN void wf_panic(const char *func, const char *what);

/* Always on: for what would corrupt memory or lose a thread. */
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

/* Provided by os/: raw write to stderr, own thread's id, abort. */
void wf_log_sink(const char *line, size_t len);
long wf_log_thread_id(void);
WF_NORETURN void wf_log_abort(void);

#endif
