/* SPDX-License-Identifier: MIT */
#include "registers.h"

#include <string.h>

#include "splitmix.h"

_Static_assert(offsetof(struct registers, flags) == 112, "registers_x86_64.S");
_Static_assert(offsetof(struct registers, red_zone) == 120, "the same");
_Static_assert(offsetof(struct registers, mxcsr) == 248, "the same");
_Static_assert(offsetof(struct registers, x87) == 256, "the same");
_Static_assert(offsetof(struct registers, mask) == 384, "the same");
_Static_assert(offsetof(struct registers, vector) == 448, "the same");
_Static_assert(offsetof(struct registers, count) == 2496, "the same");

enum registers_level registers_best_level(void)
{
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f"))
		return REGISTERS_AVX512;
	return __builtin_cpu_supports("avx2") ? REGISTERS_AVX : REGISTERS_SSE;
}

static void fill_words(void *p, size_t bytes, uint64_t *seed)
{
	uint64_t *w = p;

	for (size_t i = 0; i < bytes / 8; i++)
		w[i] = random_next(seed);
}

void registers_fill(struct registers *r, uint64_t *seed)
{
	/* 24, 53 and 64 bits; 1 is reserved. */
	static const uint16_t precision[] = { 0, 2, 3 };
	uint64_t bits;

	memset(r, 0, sizeof(*r));
	fill_words(r->general, sizeof(r->general), seed);
	fill_words(r->red_zone, sizeof(r->red_zone), seed);
	fill_words(r->vector, sizeof(r->vector), seed);
	bits = random_next(seed);
	r->flags = 2 | (bits & REGISTERS_FLAGS);
	bits = random_next(seed);
	/*
	 * All exceptions are masked; rounding, flush to zero and sticky bits
	 * vary.
	 */
	r->mxcsr = 0x1f80 | (bits & 0xe07f);
	bits = random_next(seed);
	r->x87_control = (uint16_t)(0x7f | precision[bits % 3] << 8 |
				    (bits >> 8 & 3) << 10);
	for (int i = 0; i < 8; i++) {
		/* A normal number: integer bit set, exponent in range. */
		uint64_t mantissa = random_next(seed) | 1ULL << 63;
		uint16_t exponent = (uint16_t)(1 + random_next(seed) % 0x7ffd);

		memcpy(r->x87[i], &mantissa, 8);
		memcpy(r->x87[i] + 8, &exponent, 2);
		r->mask[i] = random_next(seed) & 0xffff;
	}
}

static const char *vector_differs(const struct registers *in,
				  const struct registers *out, int level)
{
	static const size_t nr[] = { 16, 16, 32 }, bytes[] = { 16, 32, 64 };

	for (size_t i = 0; i < nr[level]; i++) {
		if (memcmp(in->vector[i], out->vector[i], bytes[level]) != 0)
			return "a vector register";
	}
	if (level == REGISTERS_AVX512 &&
	    memcmp(in->mask, out->mask, sizeof(in->mask)) != 0)
		return "a mask register";
	return NULL;
}

const char *registers_differ(const struct registers *in,
			     const struct registers *out, int level)
{
	static const char *const general[] = { "rax", "rbx", "rdx", "rsi",
					       "rdi", "rbp", "r8",  "r9",
					       "r10", "r11", "r12", "r13",
					       "r14", "r15" };

	for (size_t i = 0; i < 14; i++) {
		if (in->general[i] != out->general[i])
			return general[i];
	}
	if (out->count != 0)
		return "rcx";
	if (((in->flags ^ out->flags) & REGISTERS_FLAGS) != 0)
		return "the flags";
	if (memcmp(in->red_zone, out->red_zone, sizeof(in->red_zone)) != 0)
		return "the red zone";
	if (in->mxcsr != out->mxcsr)
		return "mxcsr";
	if (in->x87_control != out->x87_control)
		return "the x87 control word";
	/* After eight loads the top of the x87 stack is 0 again. */
	if ((out->x87_status & 0x3800) != 0)
		return "the x87 status word";
	for (int i = 0; i < 8; i++) {
		if (memcmp(in->x87[i], out->x87[i], 10) != 0)
			return "the x87 stack";
	}
	return vector_differs(in, out, level);
}
