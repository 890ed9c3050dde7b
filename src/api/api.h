/* SPDX-License-Identifier: MIT */
/*
 * Defines the names of libc that programs call and weft replaces.
 *
 *     WF_API(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
 *     {
 *             ...             at most 15 lines: decide, call, flip the sign
 *     }
 *     WF_API_ALIAS(pthread_mutex_unlock, __pthread_mutex_unlock);
 *
 * Each name is also a line of src/interposed.txt, or of src/weft.map if weft.h
 * declares it. weft's inner functions return 0 or -Exxx and do not change
 * errno. The wrappers here turn that into libc's results.
 */
#ifndef WEFT_API_API_H
#define WEFT_API_API_H

#include <errno.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "signal/mask.h"

/* Declares and defines a name: libc's headers do not declare all of them. */
#define WF_API(ret, name, ...)           \
	WF_EXPORT ret name(__VA_ARGS__); \
	WF_EXPORT ret name(__VA_ARGS__)

/* Defines a function that has nothing but its fast path inline. */
#define WF_API_FAST(ret, name, ...)                     \
	WF_EXPORT ret name(__VA_ARGS__) WF_PREEMPTIBLE; \
	WF_EXPORT ret name(__VA_ARGS__)

#if __has_attribute(copy)
#define WF_API_COPY(name) __attribute__((copy(name)))
#else
#define WF_API_COPY(name)
#endif

/* Gives a function of the same file a second name. */
#define WF_API_ALIAS(name, second)                       \
	extern __typeof__(name) second WF_API_COPY(name) \
		__attribute__((alias(#name))) WF_EXPORT

/*
 * WF_API_ALIAS for a name that libc's headers may declare with another type of
 * the same layout: that with 64-bit offsets.
 */
#define WF_API_ALIAS_64(name, second)                                        \
	extern __typeof__(name) name##_64 __asm__(#second) WF_API_COPY(name) \
		__attribute__((alias(#name))) WF_EXPORT

/* The result of functions that return -1 and set errno. */
static inline int wf_api_errno(int rc)
{
	if (WF_LIKELY(rc >= 0))
		return rc;
	errno = -rc;
	return -1;
}

/*
 * wf_api_errno for calls that the kernel also answers with a signal to the
 * calling thread: SIGPIPE with EPIPE, SIGXFSZ with EFBIG.
 */
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
