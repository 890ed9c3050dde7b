/* SPDX-License-Identifier: MIT */
/*
 * Runs a few threads of C code in every order in which a sequentially
 * consistent machine could run them.
 *
 *     struct explore_case c = { .nr_threads = 3, .begin = reset,
 *                               .body = run_thread, .end = check,
 *                               .shared = &q, .shared_bytes = sizeof(q) };
 *     explore(&c, &counts);
 *
 * The code under test uses base/atomic.h's macros, replaced by those of
 * explore_atomic.h: each access is a stop, where another thread may continue.
 * All data that threads share is in `shared`, or is written by one thread and
 * read by `end` only. body may depend only on its number and on values that it
 * reads through the macros.
 *
 * The search is depth first and starts each execution from the beginning. Two
 * executions are at the same point if `shared` and the values that each thread
 * has read are equal; then only the first continues. A 64-bit hash stands for
 * this state.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stddef.h>
#include <stdint.h>

#include "explore_atomic.h"

enum { EXPLORE_THREADS_MAX = 4, EXPLORE_STEPS_MAX = 1000 };

struct explore_case {
	int nr_threads;
	void (*begin)(void);	  /* sets up the shared data */
	void (*body)(int number); /* one thread */
	/* after all threads; aborts if the result is wrong */
	void (*end)(void);
	const void *shared;
	size_t shared_bytes;
};

struct explore_counts {
	uint64_t executions; /* executions; most end at a known state */
	uint64_t complete;   /* run to the end */
	uint64_t states;
};

void explore(const struct explore_case *c, struct explore_counts *ret_counts);

/* The thread that runs; -1 in begin and end. */
int explore_current(void);

/* Prints the order of steps that led here, and exits with status 1. */
void explore_fail(const char *what);

#endif
