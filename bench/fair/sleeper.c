/* SPDX-License-Identifier: MIT */
/*
 * Six threads compute beside one that sleeps for a given time in a loop.
 * Measures how long its sleeps take, and how many steps each of the six makes.
 *
 * usage: sleeper SLEEP_US [memset]
 *
 * With "memset" they compute inside libc, where the first preemption signals
 * are refused.
 */
#include <string.h>

#include "fair.h"

enum { NR_WORKERS = 6, RUN_MS = 1000, MAX_SLEEPS = 10000, BYTES = 32 << 20 };

static struct fair_worker workers[NR_WORKERS];
static volatile int stop;
static int64_t sleep_ns;
static int64_t times[MAX_SLEEPS];
static int nr_sleeps;

static void fill(struct fair_worker *worker)
{
	memset(worker->arg, (int)worker->count, BYTES);
}

static void *sleep_often(void *arg)
{
	int64_t end = fair_now_ns() + RUN_MS * 1000000LL;

	while (fair_now_ns() < end && nr_sleeps < MAX_SLEEPS) {
		int64_t start = fair_now_ns();

		fair_sleep_ns(sleep_ns);
		times[nr_sleeps++] = fair_now_ns() - start;
	}
	return arg;
}

int main(int argc, char **argv)
{
	int is_memset = argc > 2 && strcmp(argv[2], "memset") == 0;
	pthread_t sleeper;

	if (argc < 2)
		return 2;
	sleep_ns = atol(argv[1]) * 1000;
	for (int i = 0; is_memset && i < NR_WORKERS; i++) {
		workers[i].arg = malloc(BYTES);
		if (workers[i].arg == NULL)
			return 1;
	}
	fair_workers_start(workers, NR_WORKERS, is_memset ? fill : NULL, &stop);
	sleeper = fair_create(sleep_often, NULL);
	pthread_join(sleeper, NULL);
	fair_workers_report(workers, NR_WORKERS, &stop, "work");
	fair_report_times(times, nr_sleeps);
	return 0;
}
