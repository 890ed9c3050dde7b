/* SPDX-License-Identifier: MIT */
/* How many times faster COUNT threads do a fixed work than one thread. */
#include "bench.h"
#include "compute.h"

static volatile uint64_t sink;

static void *part(void *arg)
{
	sink = compute((uint64_t)(uintptr_t)&arg, *(long *)arg);
	return NULL;
}

static double time_ns(long nr_threads, long nr_steps)
{
	pthread_t *threads = calloc((size_t)nr_threads, sizeof(*threads));
	long share = nr_steps / nr_threads;
	uint64_t start_ns = bench_now_ns();

	for (long i = 0; i < nr_threads; i++)
		bench_create(&threads[i], part, &share);
	for (long i = 0; i < nr_threads; i++)
		bench_join(threads[i]);
	free(threads);
	return (double)(bench_now_ns() - start_ns);
}

int main(int argc, char **argv)
{
	long nr_threads = bench_count(argc, argv, 2);
	double wanted_ns = (double)bench_scale(argc, argv, 200) * 1e6;
	long nr_steps = 100000;
	char name[64];
	double one;

	while ((one = time_ns(1, nr_steps)) < wanted_ns)
		nr_steps = (long)((double)nr_steps * 1.2 * wanted_ns / one) + 1;
	snprintf(name, sizeof(name), "scaling_%ld", nr_threads);
	bench_print(name, one / time_ns(nr_threads, nr_steps));
	return 0;
}
