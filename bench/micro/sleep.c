/* SPDX-License-Identifier: MIT */
/*
 * The time by which a sleep of COUNT microseconds ends late, in microseconds:
 * the median, and the 99th percentile.
 */
#include "bench.h"

#define MAX_SLEEPS 1000

static double late_us[MAX_SLEEPS];
static long nr_sleeps;

static void *sleeper(void *arg)
{
	long us = *(long *)arg;
	struct timespec time = { us / 1000000, us % 1000000 * 1000 };
	uint64_t start_ns;

	for (long i = 0; i < nr_sleeps; i++) {
		start_ns = bench_now_ns();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		late_us[i] =
			(double)(bench_now_ns() - start_ns) / 1e3 - (double)us;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long us = bench_count(argc, argv, 1000);
	pthread_t thread;
	char name[64];

	/* A second of sleeps. */
	nr_sleeps = bench_scale(argc, argv, 1000000) / us;
	nr_sleeps = nr_sleeps < 3	   ? 3 :
		    nr_sleeps > MAX_SLEEPS ? MAX_SLEEPS :
					     nr_sleeps;
	bench_create(&thread, sleeper, &us);
	bench_join(thread);
	snprintf(name, sizeof(name), "sleep_%ldus_median_us", us);
	bench_print(name, bench_percentile(late_us, nr_sleeps, 50));
	snprintf(name, sizeof(name), "sleep_%ldus_p99_us", us);
	bench_print(name, bench_percentile(late_us, nr_sleeps, 99));
	return 0;
}
