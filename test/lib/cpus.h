/* SPDX-License-Identifier: MIT */
/* Makes sets of one CPU. */
#ifndef CPUS_H
#define CPUS_H

#include <sched.h>

#include "check.h"

static inline cpu_set_t set_of_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

static inline cpu_set_t own_cpus(void)
{
	cpu_set_t all;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	return all;
}

/* Returns the first CPU that the caller may use. */
static inline int first_cpu(void)
{
	const cpu_set_t all = own_cpus();
	int cpu = 0;

	while (!CPU_ISSET(cpu, &all))
		cpu++;
	return cpu;
}

#endif
