/* SPDX-License-Identifier: MIT */
/*
 * IMA ADPCM by its specification. A nibble has a sign and three bits of
 * magnitude. The difference to the last sample is (magnitude + 1/2) / 4 of the
 * step, and the magnitude says how the step changes.
 */
#include "adpcm.h"

enum { NR_STEPS = 89, SIGN = 8, MAGNITUDE = 7 };

/*
 * Each step is a tenth larger than the one before; the table is the standard's.
 */
static const int16_t steps[NR_STEPS] = {
	7,     8,     9,     10,    11,	   12,	  13,	 14,	16,    17,
	19,    21,    23,    25,    28,	   31,	  34,	 37,	41,    45,
	50,    55,    60,    66,    73,	   80,	  88,	 97,	107,   118,
	130,   143,   157,   173,   190,   209,	  230,	 253,	279,   307,
	337,   371,   408,   449,   494,   544,	  598,	 658,	724,   796,
	876,   963,   1060,  1166,  1282,  1411,  1552,	 1707,	1878,  2066,
	2272,  2499,  2749,  3024,  3327,  3660,  4026,	 4428,	4871,  5358,
	5894,  6484,  7132,  7845,  8630,  9493,  10442, 11487, 12635, 13899,
	15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767
};

static const int8_t changes[MAGNITUDE + 1] = { -1, -1, -1, -1, 2, 4, 6, 8 };

static int within(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

static int decode_nibble(struct adpcm *state, unsigned int nibble)
{
	int step = steps[state->index];
	int difference = step >> 3;

	if ((nibble & 4) != 0)
		difference += step;
	if ((nibble & 2) != 0)
		difference += step >> 1;
	if ((nibble & 1) != 0)
		difference += step >> 2;
	if ((nibble & SIGN) != 0)
		difference = -difference;
	state->sample =
		within(state->sample + difference, INT16_MIN, INT16_MAX);
	state->index = within(state->index + changes[nibble & MAGNITUDE], 0,
			      NR_STEPS - 1);
	return state->sample;
}

int64_t adpcm_decode(struct adpcm *state, const uint8_t *bytes, size_t n,
		     int16_t *ret_samples)
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		int low = decode_nibble(state, bytes[i] & 15U);
		int high = decode_nibble(state, bytes[i] >> 4);

		ret_samples[2 * i] = (int16_t)low;
		ret_samples[2 * i + 1] = (int16_t)high;
		sum += low + high;
	}
	return sum;
}
