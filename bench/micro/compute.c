/* SPDX-License-Identifier: MIT */
/*
 * COUNT threads that only compute: the cost of preemption. The second figure is
 * the CPU time of the whole process, which other processes disturb less.
 */
#include "compute.h"
#include "crew.h"

static volatile uint64_t sink;
static uint64_t cpu_start_ns;

static void steps(int me, long nr_ops)
{
	sink = compute((uint64_t)me, nr_ops);
}

static double cpu_ns_per_op;

static uint64_t run(long *nr_ops)
{
	uint64_t ns;

	cpu_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	ns = crew_run(nr_ops);
	cpu_ns_per_op =
		(double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_start_ns) /
		(double)*nr_ops;
	return ns;
}

int main(int argc, char **argv)
{
	int nr_threads = (int)bench_count(argc, argv, 2);
	char name[64];

	snprintf(name, sizeof(name), "compute_%d", nr_threads);
	crew_start(nr_threads, steps);
	bench_measure(argc, argv, name, run);
	snprintf(name, sizeof(name), "compute_%d_cpu", nr_threads);
	bench_print(name, cpu_ns_per_op);
	return 0;
}
