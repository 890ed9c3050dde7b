/*
 * What the micro benchmarks share. Each measures one operation for a fixed
 * number of times and prints a line "NAME NS_PER_OP" for each figure:
 *
 *     uint64_t start_ns = bench_now_ns();
 *
 *     for (int i = 0; i < nr_ops; i++)
 *             sched_yield();
 *     bench_report("yield", start_ns, nr_ops);
 *
 * The first argument, if any, scales the number of operations in percent.
 */
#ifndef BENCH_H
#define BENCH_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void bench_report(const char *name, uint64_t start_ns,
				long nr_ops)
{
	printf("%s %.1f\n", name,
	       (double)(bench_now_ns() - start_ns) / (double)nr_ops);
	fflush(stdout);
}

/* `nr_ops` scaled by the program's argument, at least 1. */
static inline long bench_scale(int argc, char **argv, long nr_ops)
{
	long percent = argc > 1 ? atol(argv[1]) : 100;

	return nr_ops * percent / 100 > 0 ? nr_ops * percent / 100 : 1;
}

static inline void bench_create(pthread_t *ret_thread, void *(*start)(void *),
				void *arg)
{
	if (pthread_create(ret_thread, NULL, start, arg) != 0) {
		fprintf(stderr, "pthread_create failed\n");
		exit(1);
	}
}

static inline void bench_join(pthread_t thread)
{
	if (pthread_join(thread, NULL) != 0) {
		fprintf(stderr, "pthread_join failed\n");
		exit(1);
	}
}

#endif
