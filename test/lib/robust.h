/* SPDX-License-Identifier: MIT */
/* Robust mutexes that processes share. */
#ifndef TEST_ROBUST_H
#define TEST_ROBUST_H

#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

enum { ROBUST_BYTES = 4096 };

/*
 * Maps nr mutexes of ROBUST_BYTES. protocol: PTHREAD_PRIO_NONE or another one.
 */
static inline pthread_mutex_t *map_robust(int nr, int protocol)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *m = mmap(NULL, ROBUST_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(m != MAP_FAILED);
	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	for (int i = 0; i < nr; i++)
		CHECK_EQ(pthread_mutex_init(&m[i], &attr), 0);
	return m;
}

#endif
