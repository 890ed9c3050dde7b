/* SPDX-License-Identifier: MIT */
/* Work that only computes; its result depends on every step. */
#ifndef COMPUTE_H
#define COMPUTE_H

#include <stdint.h>

static inline uint64_t compute(uint64_t x, long nr_steps)
{
	for (long i = 0; i < nr_steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

#endif
