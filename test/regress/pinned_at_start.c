/* SPDX-License-Identifier: MIT */
/*
 * The first thread is restricted to one CPU when it makes threads with other
 * CPUs: by their attributes, as OpenMP does with OMP_PROC_BIND, or by their own
 * calls. weft took the first thread's CPU for the only one in the machine.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "check.h"
#include "cpus.h"
#include "threading.h"

static void *check_cpu(void *arg)
{
	cpu_set_t own;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(own), &own), 0);
	CHECK(CPU_EQUAL(&own, (cpu_set_t *)arg));
	CHECK(CPU_ISSET(sched_getcpu(), &own));
	return NULL;
}

static void *pin_self(void *arg)
{
	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), arg),
		 0);
	return check_cpu(arg);
}

int main(void)
{
	cpu_set_t nowhere = set_of_cpu(CPU_SETSIZE - 1);
	int cpu = first_cpu();
	cpu_set_t all = own_cpus(), first = set_of_cpu(cpu);
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
	thread_join(thread_start(check_cpu, &first));
	CHECK_EQ(pthread_attr_init(&attr), 0);
	for (; cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one = set_of_cpu(cpu);

		if (!CPU_ISSET(cpu, &all))
			continue;
		thread_join(thread_start(pin_self, &one));
		CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(one), &one),
			 0);
		CHECK_EQ(pthread_create(&thread, &attr, check_cpu, &one), 0);
		thread_join(thread);
	}
	thread_join(thread_start(pin_self, &all));
	thread_join(thread_start(check_cpu, &first));
	if (!CPU_ISSET(CPU_SETSIZE - 1, &all))
		CHECK_EQ(sched_setaffinity(0, sizeof(nowhere), &nowhere), -1);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	puts("each has its own");
	return 0;
}
