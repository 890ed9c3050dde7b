/* SPDX-License-Identifier: MIT */
/*
 * Raw system calls: no errno, no cancellation point, no wrapper of another
 * library. Each returns the result or -Exxx.
 *
 *     long n = wf_sys(SYS_read, fd, buf, sizeof(buf));
 */
#ifndef WEFT_OS_SYS_H
#define WEFT_OS_SYS_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/arch.h"

#define WF_SYS_PICK(nr, a, b, c, d, e, f, ...)                             \
	wf_arch_syscall6((nr), (long)(a), (long)(b), (long)(c), (long)(d), \
			 (long)(e), (long)(f))
/* wf_sys(SYS_name, up to six arguments) */
#define wf_sys(...) WF_SYS_PICK(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

static inline long wf_syscall6(long nr, long a, long b, long c, long d, long e,
			       long f)
{
	return wf_arch_syscall6(nr, a, b, c, d, e, f);
}

static inline int wf_os_gettid(void)
{
	return (int)wf_sys(SYS_gettid);
}

static inline int wf_os_getpid(void)
{
	return (int)wf_sys(SYS_getpid);
}

#endif
