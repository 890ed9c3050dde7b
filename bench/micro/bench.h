/* SPDX-License-Identifier: MIT */
/*
 * Shared by the micro benchmarks. Each measures one operation and prints a line
 * "NAME FIGURE" for each figure, in nanoseconds per operation unless the name
 * has another unit:
 *
 *     static uint64_t yields(long *nr_ops)
 *     {
 *             uint64_t start_ns = bench_busy_ns();
 *
 *             for (long i = 0; i < *nr_ops; i++)
 *                     sched_yield();
 *             return bench_busy_ns() - start_ns;
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *             bench_measure(argc, argv, "yield", yields);
 *             return 0;
 *     }
 *
 * The first argument, if any, is the length of the measurement in percent of
 * the usual. The second is a number, such as that of threads. A program that
 * cannot make its threads prints a line "impossible: WHY" and exits with status
 * 77.
 */
#ifndef BENCH_H
#define BENCH_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/clock.h"

static inline uint64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * The clock for operations that keep a CPU busy all the time: elapsed time, or
 * with BENCH_CLOCK=cpu in the environment the process's CPU time, which leaves
 * out the time of other processes.
 */
static inline uint64_t bench_busy_ns(void)
{
	static clockid_t chosen = -1;

	if (chosen == -1) {
		const char *name = getenv("BENCH_CLOCK");
		int is_cpu = name != NULL && strcmp(name, "cpu") == 0;

		chosen = is_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	}
	return clock_ns(chosen);
}

static inline void bench_report(const char *name, uint64_t start_ns,
				long nr_ops)
{
	printf("%s %.1f\n", name,
	       (double)(bench_now_ns() - start_ns) / (double)nr_ops);
	fflush(stdout);
}

/* The process's memory, in bytes. */
struct bench_memory {
	long resident, page_tables;
};

static inline struct bench_memory bench_memory_now(void)
{
	struct bench_memory now = { 0, 0 };
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kb;

	while (status != NULL && fgets(line, sizeof(line), status) != NULL) {
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			now.resident = kb * 1024;
		else if (sscanf(line, "VmPTE: %ld", &kb) == 1)
			now.page_tables = kb * 1024;
	}
	if (status != NULL)
		fclose(status);
	return now;
}

/* Prints the growth since `before` divided by `nr`, page tables included. */
static inline void bench_report_memory(const char *name,
				       struct bench_memory before, long nr)
{
	struct bench_memory now = bench_memory_now();

	printf("%s %.1f\n", name,
	       (double)(now.resident - before.resident + now.page_tables -
			before.page_tables) /
		       (double)nr);
	fflush(stdout);
}

/* `nr_ops` scaled by the program's argument, at least 1. */
static inline long bench_scale(int argc, char **argv, long nr_ops)
{
	long percent = argc > 1 ? atol(argv[1]) : 100;

	return nr_ops * percent / 100 > 0 ? nr_ops * percent / 100 : 1;
}

/* Returns the program's second argument. */
static inline long bench_count(int argc, char **argv, long otherwise)
{
	long count = argc > 2 ? atol(argv[2]) : otherwise;

	if (count < 1) {
		fprintf(stderr, "usage: %s [PERCENT [COUNT]]\n", argv[0]);
		exit(2);
	}
	return count;
}

/* Prints four digits, which are enough. dietlibc prints large %g wrongly. */
static inline void bench_print(const char *name, double figure)
{
	printf(figure < 1000 ? "%s %.4g\n" : "%s %.0f\n", name, figure);
	fflush(stdout);
}

/*
 * Calls `run` with more and more operations, until a call takes the time that
 * the program's argument asks for. Reports that last call; the first call only
 * warms up. `run` returns its time in nanoseconds, and stores in *nr_ops the
 * number of operations that it has really done.
 * With BENCH_OPS=N in the environment it calls `run` once, with N: for scripts
 * that count the system calls or instructions of an operation.
 */
static inline void bench_measure(int argc, char **argv, const char *name,
				 uint64_t (*run)(long *nr_ops))
{
	double wanted_ns = (double)bench_scale(argc, argv, 200) * 1e6;
	const char *exactly = getenv("BENCH_OPS");
	double grow, ns;
	long nr_ops = exactly != NULL ? atol(exactly) : 1;

	ns = (double)run(&nr_ops);
	if (exactly != NULL) {
		bench_print(name, ns / (double)nr_ops);
		return;
	}
	for (;;) {
		ns = (double)run(&nr_ops) + 1;
		if (ns >= wanted_ns)
			break;
		/*
		 * A fifth more than needed, as the last call is the longest and
		 * has to be long enough.
		 */
		grow = 1.2 * wanted_ns / ns;
		nr_ops = (long)((double)nr_ops * (grow < 50 ? grow : 50)) + 1;
	}
	bench_print(name, ns / (double)nr_ops);
}

static inline void bench_impossible(const char *what, int error)
{
	printf("impossible: %s: %s\n", what, strerror(error));
	exit(77);
}

static inline void bench_create(pthread_t *ret_thread, void *(*start)(void *),
				void *arg)
{
	int error = pthread_create(ret_thread, NULL, start, arg);

	if (error != 0)
		bench_impossible("pthread_create", error);
}

static inline void bench_join(pthread_t thread)
{
	if (pthread_join(thread, NULL) != 0) {
		fprintf(stderr, "pthread_join failed\n");
		exit(1);
	}
}

static int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Sorts the samples and returns the one that `percent` of them do not exceed.
 */
static inline double bench_percentile(double *samples, long nr, int percent)
{
	qsort(samples, (size_t)nr, sizeof(*samples), bench_compare);
	return samples[(nr - 1) * percent / 100];
}

#endif
