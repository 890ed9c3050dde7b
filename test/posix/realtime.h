/* SPDX-License-Identifier: MIT */
/*
 * Common to the tests of real-time threads: all threads run on one CPU. Each
 * thread notes when it runs.
 *
 *     begin();
 *     t[0] = start_fifo(10, note_own, NOTE('a'));
 *     t[1] = start_fifo(30, note_own, NOTE('b'));
 *     threads_join(t, 2);
 *     check_order("ba");
 */
#ifndef REALTIME_H
#define REALTIME_H

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "policies.h"

enum { MAIN = 50, MAX_ORDER = 16 };

static char order[MAX_ORDER + 1];
static _Atomic int nr_order;

static inline void note(char who)
{
	int at = nr_order++;

	CHECK(at < MAX_ORDER);
	order[at] = who;
}

static inline void check_order(const char *expected)
{
	if (strcmp(order, expected) != 0)
		fprintf(stderr, "in the order %s\n", order);
	CHECK(strcmp(order, expected) == 0);
}

static inline pthread_t start_fifo(int priority, void *(*start)(void *),
				   void *arg)
{
	return thread_start_policy(SCHED_FIFO, priority, NULL, start, arg);
}

static inline bool try_set_own(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	return pthread_setschedparam(pthread_self(), policy, &param) == 0;
}

static inline void set_own(int policy, int priority)
{
	CHECK(try_set_own(policy, priority));
}

/* The process keeps the first nr_cpus of its CPUs. */
static inline void use_cpus(int nr_cpus)
{
	cpu_set_t allowed = own_cpus(), few;

	CPU_ZERO(&few);
	for (int cpu = 0; CPU_COUNT(&few) < nr_cpus; cpu++) {
		if (cpu == CPU_SETSIZE)
			SKIP("there are not as many CPUs");
		if (CPU_ISSET(cpu, &allowed))
			CPU_SET(cpu, &few);
	}
	CHECK_EQ(sched_setaffinity(0, sizeof(few), &few), 0);
}

/*
 * The calling thread gets SCHED_FIFO and that many CPUs. On weft there may be
 * more VPs than that: they go offline (src/sched/offline.h).
 */
static inline void begin_on(int nr_cpus)
{
	use_cpus(nr_cpus);
	have_threads();
	if (!try_set_own(SCHED_FIFO, MAIN))
		SKIP("real-time policies are not allowed");
}

static inline void begin(void)
{
	begin_on(1);
}

static inline void *note_own(void *arg)
{
	note((char)(intptr_t)arg);
	return NULL;
}

#define NOTE(who) ((void *)(intptr_t)(who))

#endif
