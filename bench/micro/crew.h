/* SPDX-License-Identifier: MIT */
/*
 * A crew: threads that live from the first measurement to the program's end
 * and do their work in step, so that no measurement contains their creation.
 *
 *     static void yields(int me, long nr_ops) { ... }
 *
 *     crew_start(1000, yields);
 *     bench_measure(argc, argv, "yield_1000", crew_run);
 */
#ifndef CREW_H
#define CREW_H

#include "bench.h"

static struct {
	int nr_threads;
	void (*work)(int me, long nr_ops);
	long nr_ops; /* for each thread; written between two barriers */
	pthread_barrier_t start, end;
} crew;

static void *crew_member(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&crew.start);
		crew.work((int)(intptr_t)arg, crew.nr_ops);
		pthread_barrier_wait(&crew.end);
	}
	return NULL;
}

static inline void crew_start(int nr_threads, void (*work)(int me, long nr_ops))
{
	pthread_t thread;

	crew.nr_threads = nr_threads;
	crew.work = work;
	pthread_barrier_init(&crew.start, NULL, (unsigned int)nr_threads + 1);
	pthread_barrier_init(&crew.end, NULL, (unsigned int)nr_threads + 1);
	for (int i = 0; i < nr_threads; i++)
		bench_create(&thread, crew_member, (void *)(intptr_t)i);
}

/* Each member does its share of the operations. */
static uint64_t crew_run(long *nr_ops)
{
	uint64_t start_ns;

	crew.nr_ops = *nr_ops / crew.nr_threads + 1;
	*nr_ops = crew.nr_ops * crew.nr_threads;
	start_ns = bench_busy_ns();
	pthread_barrier_wait(&crew.start);
	pthread_barrier_wait(&crew.end);
	return bench_busy_ns() - start_ns;
}

#endif
