/* SPDX-License-Identifier: MIT */
/*
 * COUNT threads block at once in reads that weft does not intercept. Measures
 * the longest time, in milliseconds, for which another thread that yields all
 * the time, and one that sleeps 1 ms again and again, cannot run.
 */
#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "raw_read.h"

/* How long to measure after the last thread has blocked, in ns: 20 ms. */
#define AFTERMATH_NS 20000000

static int ends[2];
static _Atomic long nr_blocked;
static _Atomic int done;

static void *reader(void *arg)
{
	char c;

	atomic_fetch_add(&nr_blocked, 1);
	if (raw_read(ends[0], &c, 1) != 1)
		abort();
	return arg;
}

static void *sleeper(void *arg)
{
	struct timespec time = { 0, 1000000 };
	uint64_t *worst_ns = arg;
	uint64_t before_ns, ns;

	while (!atomic_load(&done)) {
		before_ns = bench_now_ns();
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
		ns = bench_now_ns() - before_ns - 1000000;
		*worst_ns = ns > *worst_ns ? ns : *worst_ns;
	}
	return NULL;
}

/* Yields until all threads are blocked, and for some time after. */
static uint64_t yield_all_along(long nr)
{
	uint64_t now_ns = bench_now_ns();
	uint64_t end_ns = UINT64_MAX;
	uint64_t worst_ns = 0;
	uint64_t before_ns;

	while (now_ns < end_ns) {
		before_ns = now_ns;
		sched_yield();
		now_ns = bench_now_ns();
		if (now_ns - before_ns > worst_ns)
			worst_ns = now_ns - before_ns;
		if (end_ns == UINT64_MAX && atomic_load(&nr_blocked) == nr)
			end_ns = now_ns + AFTERMATH_NS;
	}
	return worst_ns;
}

int main(int argc, char **argv)
{
	long nr = bench_count(argc, argv, 500);
	pthread_t *threads = calloc((size_t)nr + 1, sizeof(*threads));
	uint64_t sleeper_ns = 0;
	uint64_t yielder_ns;
	char name[64];

	if (threads == NULL || pipe(ends) != 0)
		return 1;
	bench_create(&threads[nr], sleeper, &sleeper_ns);
	for (long i = 0; i < nr; i++)
		bench_create(&threads[i], reader, NULL);
	yielder_ns = yield_all_along(nr);
	atomic_store(&done, 1);
	bench_join(threads[nr]);
	for (long i = 0; i < nr; i++) {
		if (write(ends[1], "", 1) != 1)
			return 1;
	}
	for (long i = 0; i < nr; i++)
		bench_join(threads[i]);
	free(threads);
	snprintf(name, sizeof(name), "blocked_%ld_yielder_ms", nr);
	bench_print(name, (double)yielder_ns / 1e6);
	snprintf(name, sizeof(name), "blocked_%ld_sleeper_ms", nr);
	bench_print(name, (double)sleeper_ns / 1e6);
	return 0;
}
