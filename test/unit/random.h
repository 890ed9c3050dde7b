/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that a printed seed repeats.
 *
 *     uint64_t seed = test_seed();        TEST_SEED=number, else the time
 *     struct test_random r = { seed };    one per thread
 *     if (test_random(&r, 3) == 0)        0, 1 or 2
 */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../lib/splitmix.h"

struct test_random {
	uint64_t state;
};

static inline uint64_t test_seed(void)
{
	const char *given = getenv("TEST_SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = given != NULL ? strtoull(given, NULL, 0) :
			       (uint64_t)now.tv_sec * 1000000000u +
				       (uint64_t)now.tv_nsec;
	printf("TEST_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static inline uint32_t test_random(struct test_random *r, uint32_t below)
{
	return (uint32_t)(random_next(&r->state) >> 32) % below;
}

#endif
