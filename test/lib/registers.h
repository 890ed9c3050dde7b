/* SPDX-License-Identifier: MIT */
/*
 * Holds known values in every register of user code while something else,
 * such as a preemption, happens.
 *
 *     struct registers in, out;
 *
 *     registers_fill(&in, &seed);
 *     registers_hold(&in, &out, 100000, registers_best_level());
 *     where = registers_differ(&in, &out, level);     NULL: nothing changed
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stddef.h>
#include <stdint.h>

enum registers_level { REGISTERS_SSE, REGISTERS_AVX, REGISTERS_AVX512 };

/* CF PF AF ZF SF DF OF: flags that user code may set without side effects. */
#define REGISTERS_FLAGS 0xcd5u

/* The assembly knows the offsets. */
struct registers {
	uint64_t general[14]; /* rax rbx rdx rsi rdi rbp r8 ... r15 */
	uint64_t flags;
	uint64_t red_zone[16];
	uint32_t mxcsr;
	uint16_t x87_control, x87_status;
	uint8_t x87[8][16]; /* 10 bytes each */
	uint64_t mask[8];   /* k0 to k7, 16 bits each */
	uint8_t vector[32][64];
	uint64_t count; /* rcx: 0 at the end */
};

/*
 * A leaf function that loads *in into the registers and into the red zone of
 * its stack. It executes one instruction `rounds` (at least 1) times, and then
 * stores in *ret_out what it finds there.
 */
void registers_hold(const struct registers *in, struct registers *ret_out,
		    uint64_t rounds, int level);

enum registers_level registers_best_level(void);

/* Fills each register with a random valid value. */
void registers_fill(struct registers *r, uint64_t *seed);

/* Returns the name of a register that differs between in and out, or NULL. */
const char *registers_differ(const struct registers *in,
			     const struct registers *out, int level);

#endif
