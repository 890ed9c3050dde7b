/* SPDX-License-Identifier: MIT */
/*
 * Short forms of what every test of threads does: a call that must succeed,
 * deadlines on a clock, time that passed.
 *
 *     pthread_t t = thread_start(waiter, &shared);
 *
 *     await_rest();
 *     CHECK_EQ(sem_post(&shared.sem), 0);
 *     CHECK(thread_join(t) == NULL);
 */
#ifndef THREADING_H
#define THREADING_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "rest.h"

#define NS_PER_S 1000000000L
#define NS_PER_MS 1000000L

static inline pthread_t thread_start(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, start, arg), 0);
	return thread;
}

static inline void *thread_join(pthread_t thread)
{
	void *result;

	CHECK_EQ(pthread_join(thread, &result), 0);
	return result;
}

static inline void threads_start(pthread_t *threads, int nr,
				 void *(*start)(void *), void *arg)
{
	for (int i = 0; i < nr; i++)
		threads[i] = thread_start(start, arg);
}

/* Starts threads, each with its number as argument. */
static inline void threads_start_numbered(pthread_t *threads, int nr,
					  void *(*start)(void *))
{
	for (intptr_t i = 0; i < nr; i++)
		threads[i] = thread_start(start, (void *)i);
}

static inline void threads_join(pthread_t *threads, int nr)
{
	for (int i = 0; i < nr; i++)
		thread_join(threads[i]);
}

static inline void *thread_pause_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static inline void *thread_nothing(void *arg)
{
	return arg;
}

/* Yields often, so that other threads run. */
static inline void *thread_yield_often(void *arg)
{
	for (int i = 0; i < 1000; i++)
		sched_yield();
	return arg;
}

/* Makes the process have threads, so that the runtime starts. */
static inline void have_threads(void)
{
	thread_join(thread_start(thread_nothing, NULL));
}

static inline struct timespec ts_after_ns(struct timespec ts, int64_t ns)
{
	ts.tv_sec += ns / NS_PER_S;
	ts.tv_nsec += ns % NS_PER_S;
	if (ts.tv_nsec >= NS_PER_S) {
		ts.tv_sec++;
		ts.tv_nsec -= NS_PER_S;
	} else if (ts.tv_nsec < 0) {
		ts.tv_sec--;
		ts.tv_nsec += NS_PER_S;
	}
	return ts;
}

/* Returns the time on `clock` in `ms`, which may be negative. */
static inline struct timespec deadline_ms(clockid_t clock, int64_t ms)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(clock, &now), 0);
	return ts_after_ns(now, ms * NS_PER_MS);
}

static inline int64_t now_ns(void)
{
	struct timespec now;

	CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline int64_t elapsed_ms(int64_t start_ns)
{
	return (now_ns() - start_ns) / NS_PER_MS;
}

static inline void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * NS_PER_MS };

	while (nanosleep(&ts, &ts) != 0)
		CHECK_EQ(errno, EINTR);
}

/* Longer than any case takes, and shorter than the runner's limit. */
#define AWAIT_LIMIT_MS 12000

static inline void await_count_at(const char *file, int line, const char *what,
				  _Atomic int *value, int least)
{
	const int turns_per_look = 1000;
	int64_t start = now_ns();
	bool is_told = false;

	for (int turns = 1; *value < least; turns++) {
		sched_yield();
		if (is_told || turns % turns_per_look != 0 ||
		    elapsed_ms(start) < AWAIT_LIMIT_MS)
			continue;
		check_report(file, line, what, *value, least);
		is_told = true;
	}
}

/*
 * Waits until *value is at least `least`. If that takes too long, it reports
 * this and continues: the runner then writes the threads' backtraces.
 */
#define await_count(value, least) \
	await_count_at(__FILE__, __LINE__, "awaited " #value, value, least)

/*
 * Waits until the thread that sets *is_ready is in its next call, and all other
 * threads wait.
 */
static inline void let_it_wait(_Atomic int *is_ready)
{
	while (!*is_ready)
		sleep_ms(1);
	await_rest();
}

/* Returns whether weft is loaded; reads /proc/self/maps. */
static inline bool is_on_weft(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;

	CHECK(maps != NULL);
	while (fgets(line, sizeof(line), maps) != NULL)
		found |= strstr(line, "libweft") != NULL;
	fclose(maps);
	return found;
}

#endif
