/* SPDX-License-Identifier: MIT */
/*
 * The protocol between step_program.c and step.c: a mark is a breakpoint
 * instruction with the mark's kind in rdi and the section's number in rsi. The
 * tracer answers in rax.
 */
#ifndef STEP_H
#define STEP_H

enum {
	STEP_BEGIN = 1, /* answer 1: go; 0: not yet, spin and mark again */
	STEP_END,	/* answer 1: once more; 0: that was the last pass */
};

static inline long step_mark(long kind, long section)
{
	long answer;

	__asm__ volatile("int3"
			 : "=a"(answer)
			 : "D"(kind), "S"(section)
			 : "memory");
	return answer;
}

#endif
