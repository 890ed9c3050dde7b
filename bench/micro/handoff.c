/* SPDX-License-Identifier: MIT */
/*
 * A thread blocks in a read that weft does not intercept: the time, in
 * milliseconds, until another thread runs, with one CPU.
 */
#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "raw_read.h"

#define MAX_ROUNDS 1000

static int ends[2];
static _Atomic uint64_t blocked_ns;

static void *reader(void *arg)
{
	char c;

	atomic_store(&blocked_ns, bench_now_ns());
	if (raw_read(ends[0], &c, 1) != 1)
		abort();
	return arg;
}

int main(int argc, char **argv)
{
	/*
	 * Each sample is of a fresh thread: weft treats a thread that often
	 * blocks in another way.
	 */
	long nr_rounds = 2 + bench_scale(argc, argv, 30);
	double late_ms[MAX_ROUNDS];
	pthread_t thread;
	uint64_t since;

	if (nr_rounds > MAX_ROUNDS || pipe(ends) != 0)
		return 1;
	for (long i = 0; i < nr_rounds; i++) {
		atomic_store(&blocked_ns, 0);
		bench_create(&thread, reader, NULL);
		while ((since = atomic_load(&blocked_ns)) == 0)
			sched_yield();
		late_ms[i] = (double)(bench_now_ns() - since) / 1e6;
		if (write(ends[1], "", 1) != 1)
			return 1;
		bench_join(thread);
	}
	bench_print("handoff_median_ms",
		    bench_percentile(late_ms, nr_rounds, 50));
	bench_print("handoff_worst_ms",
		    bench_percentile(late_ms, nr_rounds, 100));
	return 0;
}
