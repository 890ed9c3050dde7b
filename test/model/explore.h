/* SPDX-License-Identifier: MIT */
/*
 * Runs a few threads of C code in every order that a sequentially consistent
 * machine could run them in.
 *
 *     struct explore_case c = { .nr_threads = 3, .begin = reset,
 *                               .body = run_thread, .end = check,
 *                               .shared = &q, .shared_bytes = sizeof(q) };
 *     explore(&c, &counts);
 *
 * The code under test uses base/atomic.h's macros, replaced by those of
 * explore_atomic.h: each access is a stop, where another thread may go on.
 * Everything threads share is either in `shared` or written by one thread and
 * read by `end` only. body must depend on nothing but its number and what it
 * reads through the macros.
 *
 * The search is depth first and starts each execution from the beginning. Two
 * executions are at the same point if `shared` and what each thread has
 * learnt are equal; then only the first goes on. The hash of that has 64 bits
 * and is taken for the thing itself.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stddef.h>
#include <stdint.h>

#include "explore_atomic.h"

enum { EXPLORE_THREADS_MAX = 4, EXPLORE_STEPS_MAX = 1000 };

struct explore_case {
	int nr_threads;
	void (*begin)(void);	  /* sets up what is shared */
	void (*body)(int number); /* one thread */
	void (*end)(void);	  /* all are done: abort if that went wrong */
	const void *shared;
	size_t shared_bytes;
};

struct explore_counts {
	uint64_t executions; /* run, most of them cut where others had been */
	uint64_t complete;   /* run to the end */
	uint64_t states;
};

void explore(const struct explore_case *c, struct explore_counts *ret_counts);

/* The thread that runs; -1 in begin and end. */
int explore_current(void);

/* Prints the order of steps that led here, and exits with status 1. */
void explore_fail(const char *what);

#endif
