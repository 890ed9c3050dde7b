/* SPDX-License-Identifier: MIT */
/*
 * Shared by the fairness programs: threads that compute until told to stop and
 * count their steps, and the delays with which other threads wake. Each program
 * runs for about a second and prints a line "NAME VALUE" for each figure.
 */
#ifndef FAIR_H
#define FAIR_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/clock.h"

static inline int64_t fair_now_ns(void)
{
	return (int64_t)clock_ns(CLOCK_MONOTONIC);
}

static inline void fair_sleep_ns(int64_t ns)
{
	const struct timespec time = { ns / 1000000000, ns % 1000000000 };

	nanosleep(&time, NULL);
}

static inline void fair_report(const char *name, double value)
{
	printf("%s %.4f\n", name, value);
	fflush(stdout);
}

static inline pthread_t fair_create(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, arg) != 0) {
		fprintf(stderr, "pthread_create failed\n");
		exit(1);
	}
	return thread;
}

/*
 * One thread that computes. Other threads read its count, which has a cache
 * line of its own.
 */
struct fair_worker {
	_Alignas(128) volatile uint64_t count;
	/* One step of work; NULL: arithmetic. */
	void (*work)(struct fair_worker *worker);
	void *arg;
	volatile int *stop;
	pthread_t thread;
};

static inline void fair_compute(int steps)
{
	uint64_t x = (uint64_t)steps;

	for (int i = 0; i < steps; i++)
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
	__asm__ volatile("" : : "r"(x)); /* so that x is needed */
}

static inline void *fair_worker_run(void *arg)
{
	struct fair_worker *worker = arg;

	while (!*worker->stop) {
		if (worker->work != NULL)
			worker->work(worker);
		else
			fair_compute(1000);
		worker->count++;
	}
	return NULL;
}

static inline void fair_workers_start(struct fair_worker *workers, int nr,
				      void (*work)(struct fair_worker *worker),
				      volatile int *stop)
{
	for (int i = 0; i < nr; i++) {
		workers[i].count = 0;
		workers[i].work = work;
		workers[i].stop = stop;
		workers[i].thread = fair_create(fair_worker_run, &workers[i]);
	}
}

/*
 * Reads the counts and stops the threads; prints the sum of the steps, and the
 * ratio of the most to the least.
 */
static inline void fair_workers_report(struct fair_worker *workers, int nr,
				       volatile int *stop, const char *name)
{
	uint64_t sum = 0, most = 0, least = UINT64_MAX;

	for (int i = 0; i < nr; i++) {
		uint64_t count = workers[i].count;

		sum += count;
		most = count > most ? count : most;
		least = count < least ? count : least;
	}
	*stop = 1;
	for (int i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
	fair_report(name, (double)sum);
	fair_report("share", least > 0 ? (double)most / (double)least : 1e9);
}

static inline int fair_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts the times and prints their median, 99th percentile and longest. */
static inline void fair_report_times(int64_t *ns, int nr)
{
	qsort(ns, (size_t)nr, sizeof(*ns), fair_compare);
	fair_report("median_ms", (double)ns[nr / 2] / 1e6);
	fair_report("p99_ms", (double)ns[nr * 99 / 100] / 1e6);
	fair_report("longest_ms", (double)ns[nr - 1] / 1e6);
}

#endif
