/* SPDX-License-Identifier: MIT */
/*
 * OpenMP with more threads than CPUs: libgomp's barriers spin, and wait by
 * futex calls that it issues inline.
 *
 * usage: openmp THREADS
 */
#include <omp.h>

#include "fair.h"

enum { RUN_MS = 500 };

int main(int argc, char **argv)
{
	int64_t end = fair_now_ns() + RUN_MS * 1000000LL;
	uint64_t regions = 0;
	long total = 0;

	omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 8);
	while (fair_now_ns() < end) {
#pragma omp parallel for reduction(+ : total)
		for (int i = 0; i < 64; i++) {
			fair_compute(200);
			total += i;
		}
		regions++;
	}
	fair_report("regions", (double)regions);
	return total == 2016 * (long)regions ? 0 : 1;
}
