/* SPDX-License-Identifier: MIT */
/*
 * The frame of the stress programs. Each takes a seed (random without one),
 * prints it first, makes all its decisions by it, and ends with status 0 if
 * its invariants held:
 *
 *     usage: PROGRAM [SEED [PERCENT]]
 *
 *     int main(int argc, char **argv)
 *     {
 *             stress_begin(argc, argv);
 *             nr_rounds = stress_scale(10000);
 *             ...
 *             return stress_end();
 *     }
 *
 * The seed decides what threads do, not in which order they run: the same
 * seed makes a failure likely again, not certain.
 */
#ifndef STRESS_H
#define STRESS_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "splitmix.h"
#include "threading.h"

static uint64_t stress_seed;
static long stress_percent = 100;
static char stress_run[40];

/* Returns a random number from 0 to n - 1. */
static inline long random_below(uint64_t *state, long n)
{
	return (long)(random_next(state) % (uint64_t)n);
}

/* Returns the first state of thread `me`'s generator. */
static inline uint64_t random_start(long me)
{
	uint64_t state = stress_seed + (uint64_t)me * 0x2545f4914f6cdd1d;

	random_next(&state);
	return state;
}

static inline void stress_begin(int argc, char **argv)
{
	if (argc > 1) {
		stress_seed = strtoull(argv[1], NULL, 10);
	} else {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		stress_seed = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 30;
	}
	if (argc > 2)
		stress_percent = atol(argv[2]);
	snprintf(stress_run, sizeof(stress_run), "seed %" PRIu64, stress_seed);
	check_current = stress_run; /* appears in failure messages */
	puts(stress_run);
	fflush(stdout);
}

static inline long stress_scale(long nr)
{
	long scaled = nr * stress_percent / 100;

	return scaled > 0 ? scaled : 1;
}

/*
 * Returns whether round i of nr should run. Threads that wait for each other by
 * sched_yield do fewer rounds beside other load, since each yield may cost a
 * time slice. So a second ends the rounds, too.
 */
static inline bool stress_goes_on(long i, long nr, int64_t start_ns)
{
	return i < nr &&
	       (i % 16 != 0 || i == 0 || now_ns() - start_ns < NS_PER_S);
}

static inline int stress_end(void)
{
	puts("held");
	return 0;
}

/* Yields, sleeps or blocks in one of several ways, or does nothing. */
static inline void stress_disturb(uint64_t *random)
{
	struct timespec ts = { 0, 0 };

	switch (random_below(random, 16)) {
	case 0:
		ts.tv_nsec = random_below(random, 100000);
		nanosleep(&ts, NULL);
		break;
	case 1:
	case 2:
	case 3:
		sched_yield();
		break;
	case 4:
		for (volatile long i = random_below(random, 3000); i > 0;)
			i = i - 1;
		break;
	default:
		break;
	}
}

/* Threads that perform random acts from a list. */
struct stress_mixture {
	void (*const *acts)(uint64_t *random);
	long nr_acts;
	long nr_rounds; /* for each thread */
};

static struct stress_mixture stress_mixed;

static inline void *stress_mix_one(void *arg)
{
	const struct stress_mixture *m = &stress_mixed;
	uint64_t random = random_start((intptr_t)arg);

	for (long i = 0; i < m->nr_rounds; i++)
		m->acts[random_below(&random, m->nr_acts)](&random);
	return NULL;
}

static inline void stress_mix(struct stress_mixture mixture, pthread_t *workers,
			      int nr_workers)
{
	stress_mixed = mixture;
	threads_start_numbered(workers, nr_workers, stress_mix_one);
	threads_join(workers, nr_workers);
}

#endif
