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

/* Each on a line of its own: the buffer, and what a way keeps for a member. */
struct member {
	_Atomic uint64_t buffer;
	pthread_t thread;
	long next; /* its neighbour */
} __attribute__((aligned(64)));

extern struct member *members;
extern long nr_members;

struct way {
	const char *name;
	void (*prepare)(void); /* before there are threads */
	void (*begin)(void);   /* when there are */
	void (*wait)(long me); /* until something was passed to me */
	void (*pass)(long to); /* the buffer has been written */
};

extern const struct way ring_ways[];	  /* of the kernel and of libc */
extern const struct way ring_word_ways[]; /* of weft.h */

/* Ends with status 77 if there is no memory. */
void *ring_allocate(size_t bytes);

#endif
