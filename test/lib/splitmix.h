/* SPDX-License-Identifier: MIT */
/*
 * Random numbers that a seed repeats, a generator for each thread:
 *
 *     uint64_t state = seed;
 *
 *     coin = random_next(&state) % 2;
 */
#ifndef SPLITMIX_H
#define SPLITMIX_H

#include <stdint.h>

/* splitmix64: every seed works, neighbouring ones too. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif
