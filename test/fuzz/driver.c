/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer, on inputs that a seed makes.
 *
 *     usage: PROGRAM [SEED [INPUTS]]
 *
 * Prints the seed first; input number N depends on seed and N alone. A pool of
 * inputs is kept, each new one being a mutation of one of them or of two.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/splitmix.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 400, POOL = 64, LIMIT_S = 20 };

struct input {
	size_t size;
	uint8_t data[INPUT_MAX];
};

static struct input pool[POOL];

static size_t below(uint64_t *state, size_t n)
{
	return random_next(state) % n;
}

static void fill(struct input *in, uint64_t *random)
{
	in->size = 20 + below(random, INPUT_MAX - 20);
	for (size_t i = 0; i < in->size; i++)
		in->data[i] = (uint8_t)random_next(random);
}

static void mutate(struct input *in, uint64_t *random)
{
	const struct input *other = &pool[below(random, POOL)];
	size_t at = below(random, in->size), nr;

	switch (below(random, 5)) {
	case 0:
		in->data[at] = (uint8_t)random_next(random);
		break;
	case 1:
		in->data[at] ^= (uint8_t)(1U << below(random, 8));
		break;
	case 2: /* take the end of another input */
		if (other->size > at) {
			memcpy(in->data + at, other->data + at,
			       other->size - at);
			in->size = other->size;
		}
		break;
	case 3: /* copy a piece to another place */
		nr = 1 + below(random, in->size - at);
		memmove(in->data + below(random, in->size - nr + 1),
			in->data + at, nr);
		break;
	default:
		in->size = at + 1;
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ?
				strtoull(argv[1], NULL, 10) :
				(uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
	long nr_inputs = argc > 2 ? atol(argv[2]) : 20000;

	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	for (size_t i = 0; i < POOL; i++)
		fill(&pool[i], &seed);
	for (long n = 0; n < nr_inputs; n++) {
		struct input in = pool[below(&seed, POOL)];

		for (size_t i = 1 + below(&seed, 8); i > 0; i--)
			mutate(&in, &seed);
		if (below(&seed, 4) == 0)
			fill(&in, &seed);
		pool[below(&seed, POOL)] = in;
		alarm(LIMIT_S); /* ends a call that hangs */
		LLVMFuzzerTestOneInput(in.data, in.size);
	}
	printf("held: %ld inputs\n", nr_inputs);
	return 0;
}
