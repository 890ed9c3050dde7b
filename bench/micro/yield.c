/* SPDX-License-Identifier: MIT */
/* sched_yield by COUNT threads that do nothing else. */
#include <sched.h>

#include "crew.h"

static void yields(int me, long nr_ops)
{
	(void)me;
	for (long i = 0; i < nr_ops; i++)
		sched_yield();
}

int main(int argc, char **argv)
{
	int nr_threads = (int)bench_count(argc, argv, 2);
	char name[64];

	snprintf(name, sizeof(name), "yield_%d", nr_threads);
	crew_start(nr_threads, yields);
	bench_measure(argc, argv, name, crew_run);
	return 0;
}
