/* SPDX-License-Identifier: MIT */
/*
 * The paper's experiment: n threads in a ring, each with a buffer. A thread
 * that finds data in its buffer reads the eight bytes and writes them into its
 * neighbour's. A way is how a thread learns that its buffer has been written.
 */
#ifndef RING_H
#define RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../../micro/bench.h"

/* A member has its own cache line for its buffer and the data of a way. */
struct member {
	_Atomic uint64_t buffer;
	pthread_t thread;
	long next; /* its neighbour */
} __attribute__((aligned(64)));

extern struct member *members;
extern long nr_members;

struct way {
	const char *name;
	void (*prepare)(void); /* runs before there are threads */
	void (*begin)(void);   /* runs when there are threads */
	void (*wait)(long me); /* waits until `me` gets a token */
	void (*pass)(long to); /* called when the buffer has been written */
};

extern const struct way ring_ways[];	  /* of the kernel and of libc */
extern const struct way ring_word_ways[]; /* of weft.h */

/* Ends with status 77 if there is no memory. */
void *ring_allocate(size_t bytes);

#endif
