/* SPDX-License-Identifier: MIT */
/*
 * Clocks as numbers.
 *
 *     uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
 */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
