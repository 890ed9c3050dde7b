/* SPDX-License-Identifier: MIT */
/*
 * A decoder of IMA ADPCM: sound with four bits for a sample of 16.
 *
 *     struct adpcm state = { 0 };
 *     sum = adpcm_decode(&state, bytes, n, samples);
 */
#ifndef BENCH_ADPCM_H
#define BENCH_ADPCM_H

#include <stddef.h>
#include <stdint.h>

/* The state that passes from one block to the next. */
struct adpcm {
	int sample; /* the last sample */
	int index;  /* its step, as an index into the table of steps */
};

/* Writes two samples for each of n bytes. Returns their sum. */
int64_t adpcm_decode(struct adpcm *state, const uint8_t *bytes, size_t n,
		     int16_t *ret_samples);

#endif
