/* SPDX-License-Identifier: MIT */
/* Starts threads with a scheduling policy. */
#ifndef POLICIES_H
#define POLICIES_H

#include "threading.h"

/*
 * cpus: the CPUs of the thread; NULL: all. Skips the test if real-time policies
 * are not allowed.
 */
static inline pthread_t thread_start_policy(int policy, int priority,
					    const cpu_set_t *cpus,
					    void *(*start)(void *), void *arg)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	if (cpus != NULL)
		CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(*cpus),
						     cpus),
			 0);
	CHECK_EQ(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED),
		 0);
	CHECK_EQ(pthread_attr_setschedpolicy(&attr, policy), 0);
	CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	err = pthread_create(&thread, &attr, start, arg);
	if (err == EPERM)
		SKIP("real-time policies are not allowed");
	CHECK_EQ(err, 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

#endif
