/*
 * What the tests of real-time threads share: all on one processor, a CPU
 * natively, and on weft the VP that is left when threads of a high priority
 * keep all others busy. Threads note when they run.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "cpus.h"
#include "policies.h"

enum { HOG = 90, MAIN = 50, MAX_ORDER = 16 };

static _Atomic bool hogs_may_end;
static _Atomic int nr_hogs;
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

static inline void set_own(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	CHECK_EQ(pthread_setschedparam(pthread_self(), policy, &param), 0);
}

/* Not weft's: of the CPU, where there are more VPs than one. */
static inline void yield_cpu(void)
{
	long rc = SYS_sched_yield;

	__asm__ volatile("syscall" : "+a"(rc)::"rcx", "r11", "memory");
}

/* Else the VP that is left had a share of the CPU, for as many as there are. */
static inline void *be_a_hog(void *arg)
{
	nr_hogs++;
	while (!hogs_may_end)
		yield_cpu();
	return NULL;
}

static inline void end_hogs(void)
{
	hogs_may_end = true;
}

/* The caller runs with SCHED_FIFO, and one processor is left. */
static inline void begin(void)
{
	struct sched_param param = { .sched_priority = MAIN };
	const char *nr_vps = getenv("WEFT_VPS");
	int nr = nr_vps != NULL ? atoi(nr_vps) - 1 : 0;
	cpu_set_t one = set_of_cpu(first_cpu());

	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	have_threads();
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		SKIP("real-time policies are not allowed");
	atexit(end_hogs);
	for (int i = 0; i < nr; i++)
		start_fifo(HOG, be_a_hog, NULL);
	while (nr_hogs < nr)
		sleep_ms(1);
}

static inline void *note_own(void *arg)
{
	note((char)(intptr_t)arg);
	return NULL;
}

#define NOTE(who) ((void *)(intptr_t)(who))

#endif
