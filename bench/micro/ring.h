/* SPDX-License-Identifier: MIT */
/*
 * A ring of COUNT threads that hand one token on. One operation is one hop. The
 * including file defines how threads wait: wait_for_token(me),
 * pass_token(next), and prepare(nr) before there are threads.
 */
#ifndef RING_H
#define RING_H

#include <semaphore.h>

#include "bench.h"

static long nr_members;
static long nr_hops; /* only the thread with the token reads and writes it */
static sem_t arrived;

static void prepare(long nr);
static void wait_for_token(long me);
static void pass_token(long next);
static void member_is(long me, pthread_t thread);

static void *ring_member(void *arg)
{
	long me = (long)(intptr_t)arg;
	long next = (me + 1) % nr_members;

	for (;;) {
		wait_for_token(me);
		if (--nr_hops > 0)
			pass_token(next);
		else
			sem_post(&arrived);
	}
	return NULL;
}

/* Makes whole rounds, so that the next run begins at the first member again. */
static uint64_t ring_run(long *nr_ops)
{
	uint64_t start_ns = bench_busy_ns();

	*nr_ops = (*nr_ops / nr_members + 1) * nr_members;
	nr_hops = *nr_ops;
	pass_token(0);
	while (sem_wait(&arrived) != 0)
		;
	return bench_busy_ns() - start_ns;
}

static inline int ring_main(int argc, char **argv, const char *by)
{
	pthread_t thread;
	char name[64];

	nr_members = bench_count(argc, argv, 5);
	snprintf(name, sizeof(name), "ring_%ld_%s", nr_members, by);
	sem_init(&arrived, 0, 0);
	prepare(nr_members);
	for (long i = 0; i < nr_members; i++) {
		bench_create(&thread, ring_member, (void *)(intptr_t)i);
		member_is(i, thread);
	}
	bench_measure(argc, argv, name, ring_run);
	return 0;
}

#endif
