/* SPDX-License-Identifier: MIT */
/*
 * The names that programs call.
 *
 *     WF_API(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
 *     {
 *             ...             at most 15 lines: decide, call, flip the sign
 *     }
 *     WF_API_ALIAS(pthread_mutex_unlock, __pthread_mutex_unlock);
 *
 * Each name is also a line of src/interposed.txt, or of src/weft.map if weft.h
 * has it. Inside weft functions return 0 or -Exxx and leave errno alone; here
 * the sign flips.
 */
#ifndef WEFT_API_API_H
#define WEFT_API_API_H

#include <errno.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "signal/mask.h"

/* Declares and defines; libc's headers do not declare all of the names. */
#define WF_API(ret, name, ...)           \
	WF_EXPORT ret name(__VA_ARGS__); \
	WF_EXPORT ret name(__VA_ARGS__)

/* One that has no more than its fast path inline. */
#define WF_API_FAST(ret, name, ...)                     \
	WF_EXPORT ret name(__VA_ARGS__) WF_PREEMPTIBLE; \
	WF_EXPORT ret name(__VA_ARGS__)

#if __has_attribute(copy)
#define WF_API_COPY(name) __attribute__((copy(name)))
#else
#define WF_API_COPY(name)
#endif

/* A second name for a function that this file defines. */
#define WF_API_ALIAS(name, second)                       \
	extern __typeof__(name) second WF_API_COPY(name) \
		__attribute__((alias(#name))) WF_EXPORT

/* One that has another type in libc's headers, the same in effect. */
#define WF_API_ALIAS_64(name, second)                                        \
	extern __typeof__(name) name##_64 __asm__(#second) WF_API_COPY(name) \
		__attribute__((alias(#name))) WF_EXPORT

/* For functions that return -1 and set errno. */
static inline int wf_api_errno(int rc)
{
	if (WF_LIKELY(rc >= 0))
		return rc;
	errno = -rc;
	return -1;
}

/* The same; a signal to the caller may come with the error. */
static inline ssize_t wf_api_result(long rc)
{
	if (WF_LIKELY(rc >= 0))
		return rc;
	if (WF_UNLIKELY(rc == -EPIPE || rc == -EFBIG))
		wf_mask_keep_raised(rc == -EPIPE ? SIGPIPE : SIGXFSZ);
	errno = (int)-rc;
	return -1;
}

#endif
