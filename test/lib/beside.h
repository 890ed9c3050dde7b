/* SPDX-License-Identifier: MIT */
/*
 * Threads that always compute beside threads that wait in a loop. Each waiting
 * thread has to run soon after its wait has ended.
 *
 *     return beside(&(struct beside){ .busy = add_up, .waiting = nap,
 *                                     .most = 1000 });
 */
#ifndef WEFT_TEST_LIB_BESIDE_H
#define WEFT_TEST_LIB_BESIDE_H

#include <stdio.h>

#include "threading.h"

struct beside {
	int nr_busy, nr_waiting; /* up to 1000 threads; 0: 4 */
	/* One step of thread number i of its kind; numbers begin at 0. */
	void (*busy)(int i);
	void (*waiting)(int i);
	void (*end)(void); /* ends the waits of busy threads, or NULL */
	int nr_steps;	   /* for each waiting thread; 0: 50 */
	/*
	 * Allowed steps of all busy threads for each step of all waiting
	 * threads.
	 */
	long most;
};

static const struct beside *beside_plan;
static _Atomic int beside_is_over;
static _Atomic long beside_nr_busy_steps;

static void *beside_busy(void *arg)
{
	long nr = 0;

	for (; !beside_is_over; nr++)
		beside_plan->busy((int)(intptr_t)arg);
	beside_nr_busy_steps += nr;
	return NULL;
}

static int beside_nr_steps(void)
{
	return beside_plan->nr_steps != 0 ? beside_plan->nr_steps : 50;
}

static void *beside_waiting(void *arg)
{
	for (int k = 0; k < beside_nr_steps(); k++)
		beside_plan->waiting((int)(intptr_t)arg);
	return NULL;
}

/* Runs the plan; main returns its result as exit status. */
static inline int beside(const struct beside *plan)
{
	static pthread_t busy[1000], waiting[1000];
	int nr_busy = plan->nr_busy != 0 ? plan->nr_busy : 4;
	int nr_waiting = plan->nr_waiting != 0 ? plan->nr_waiting : 4;
	long ratio;

	beside_plan = plan;
	threads_start_numbered(busy, nr_busy, beside_busy);
	threads_start_numbered(waiting, nr_waiting, beside_waiting);
	threads_join(waiting, nr_waiting);
	beside_is_over = 1;
	if (plan->end != NULL)
		plan->end();
	threads_join(busy, nr_busy);
	ratio = beside_nr_busy_steps / ((long)nr_waiting * beside_nr_steps());
	if (ratio > plan->most)
		printf("%ld busy steps for one of who waits\n", ratio);
	else
		printf("both kinds ran\n");
	return ratio > plan->most;
}

#endif
