/* SPDX-License-Identifier: MIT */
/*
 * Functions that would take this library's objects for libc's: each ends the
 * program. They are declared here without arguments, so <pthread.h> is not
 * included.
 */
#include "fail.h"

#define UNMODELLED(name)                                                 \
	int name(void) __attribute__((visibility("default"), noreturn)); \
	int name(void)                                                   \
	{                                                                \
		lt_fail(#name " is not modelled");                       \
	}

UNMODELLED(pthread_cancel)
UNMODELLED(pthread_clockjoin_np)
UNMODELLED(pthread_cond_clockwait)
UNMODELLED(pthread_cond_timedwait)
UNMODELLED(pthread_getaffinity_np)
UNMODELLED(pthread_getattr_np)
UNMODELLED(pthread_getcpuclockid)
UNMODELLED(pthread_getname_np)
UNMODELLED(pthread_getschedparam)
UNMODELLED(pthread_mutex_clocklock)
UNMODELLED(pthread_mutex_consistent)
UNMODELLED(pthread_mutex_timedlock)
UNMODELLED(pthread_setaffinity_np)
UNMODELLED(pthread_setname_np)
UNMODELLED(pthread_setschedparam)
UNMODELLED(pthread_setschedprio)
UNMODELLED(pthread_sigqueue)
UNMODELLED(pthread_timedjoin_np)
UNMODELLED(pthread_tryjoin_np)
UNMODELLED(sem_clockwait)
UNMODELLED(sem_open)
UNMODELLED(sem_timedwait)
