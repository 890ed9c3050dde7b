/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait by yielding the CPU again and again.
 *
 *     bench_backoff queue KIND THREADS EVENTS
 *             THREADS writers and THREADS readers of a bounded lock-free queue;
 *             each passes EVENTS events and backs off by KIND while the queue
 *             is full or empty
 *     bench_backoff flag KIND MS
 *             one thread backs off by KIND until the main thread, which sleeps,
 *             sets a flag after MS ms
 *     bench_backoff
 *             prints the kinds
 *
 * Prints "wall_ms FIGURE" and "cpu_ms FIGURE". Does not depend on weft.
 *
 * The queue is a ring of slots with a sequence number each: a slot is free for
 * position p when its number is p, and full when it is p + 1 (D. Vyukov's
 * bounded queue for many producers and consumers).
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../lib/clock.h"

enum { QUEUE_SIZE = 256, MOST_THREADS = 64 };

#define NS_PER_MS 1e6

struct slot {
	_Atomic uint64_t sequence;
	uint64_t event;
};

static struct slot slots[QUEUE_SIZE];
static _Alignas(128) _Atomic uint64_t head; /* the next position to read */
static _Alignas(128) _Atomic uint64_t tail; /* the next position to write */
static _Alignas(128) _Atomic uint64_t sum;
static atomic_bool is_set;
static uint64_t nr_looks;

/* --- kinds --------------------------------------------------------------- */

static const struct timespec no_time;

static void by_nanosleep(void)
{
	nanosleep(&no_time, NULL);
}

static void by_usleep(void)
{
	usleep(0);
}

static void by_clock_nanosleep(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL);
}

/* Sleeps until a time in the past. */
static void by_deadline(void)
{
	static const struct timespec past = { .tv_sec = 1 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

static void by_thrd_sleep(void)
{
	thrd_sleep(&no_time, NULL);
}

static void by_sched_yield(void)
{
	sched_yield();
}

static void by_thrd_yield(void)
{
	thrd_yield();
}

/* Waits for a condition until a time in the past. */
static void by_timedwait(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	static const struct timespec past = { .tv_sec = 1 };

	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&cond, &mutex, &past);
	pthread_mutex_unlock(&mutex);
}

static void by_poll(void)
{
	poll(NULL, 0, 0);
}

static void by_trylock(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	if (pthread_mutex_trylock(&mutex) == 0)
		pthread_mutex_unlock(&mutex);
}

static void by_pause(void)
{
	__builtin_ia32_pause();
}

static const struct kind {
	const char *name;
	void (*back_off)(void);
} kinds[] = {
	{ "nanosleep", by_nanosleep },
	{ "usleep", by_usleep },
	{ "clock_nanosleep", by_clock_nanosleep },
	{ "deadline", by_deadline },
	{ "thrd_sleep", by_thrd_sleep },
	{ "sched_yield", by_sched_yield },
	{ "thrd_yield", by_thrd_yield },
	{ "timedwait", by_timedwait },
	{ "poll", by_poll },
	{ "trylock", by_trylock },
	{ "pause", by_pause },
};

enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void (*back_off)(void);

/* --- the queue ----------------------------------------------------------- */

static bool try_put(uint64_t event)
{
	uint64_t at = atomic_load_explicit(&tail, memory_order_relaxed);

	for (;;) {
		struct slot *s = &slots[at % QUEUE_SIZE];
		/* acquire: pairs with the release in try_get. */
		int64_t ahead =
			(int64_t)(atomic_load_explicit(&s->sequence,
						       memory_order_acquire) -
				  at);

		if (ahead < 0)
			return false;
		if (ahead > 0) {
			at = atomic_load_explicit(&tail, memory_order_relaxed);
			continue;
		}
		if (!atomic_compare_exchange_weak(&tail, &at, at + 1))
			continue;
		s->event = event;
		/* release: publishes the event. */
		atomic_store_explicit(&s->sequence, at + 1,
				      memory_order_release);
		return true;
	}
}

static bool try_get(uint64_t *ret_event)
{
	uint64_t at = atomic_load_explicit(&head, memory_order_relaxed);

	for (;;) {
		struct slot *s = &slots[at % QUEUE_SIZE];
		/* acquire: pairs with the release in try_put. */
		int64_t ahead =
			(int64_t)(atomic_load_explicit(&s->sequence,
						       memory_order_acquire) -
				  (at + 1));

		if (ahead < 0)
			return false;
		if (ahead > 0) {
			at = atomic_load_explicit(&head, memory_order_relaxed);
			continue;
		}
		if (!atomic_compare_exchange_weak(&head, &at, at + 1))
			continue;
		*ret_event = s->event;
		/* release: the slot is free for the next round. */
		atomic_store_explicit(&s->sequence, at + QUEUE_SIZE,
				      memory_order_release);
		return true;
	}
}

static void *write_events(void *arg)
{
	uint64_t nr = *(const uint64_t *)arg;

	for (uint64_t i = 1; i <= nr; i++) {
		while (!try_put(i))
			back_off();
	}
	return NULL;
}

static void *read_events(void *arg)
{
	uint64_t nr = *(const uint64_t *)arg, mine = 0, event;

	for (uint64_t i = 0; i < nr; i++) {
		while (!try_get(&event))
			back_off();
		mine += event;
	}
	atomic_fetch_add(&sum, mine);
	return NULL;
}

/* --- running ------------------------------------------------------------- */

static void must(bool is_right, const char *what)
{
	if (!is_right) {
		fprintf(stderr, "bench_backoff: %s\n", what);
		exit(1);
	}
}

static void run_queue(uint64_t nr_threads, uint64_t nr_events)
{
	pthread_t writers[MOST_THREADS], readers[MOST_THREADS];

	for (uint64_t i = 0; i < QUEUE_SIZE; i++)
		atomic_init(&slots[i].sequence, i);
	for (uint64_t i = 0; i < nr_threads; i++)
		must(pthread_create(&writers[i], NULL, write_events,
				    &nr_events) == 0 &&
			     pthread_create(&readers[i], NULL, read_events,
					    &nr_events) == 0,
		     "no thread");
	for (uint64_t i = 0; i < nr_threads; i++) {
		pthread_join(writers[i], NULL);
		pthread_join(readers[i], NULL);
	}
	must(sum == nr_threads * (nr_events * (nr_events + 1) / 2),
	     "events were lost");
}

static void *wait_for_flag(void *arg)
{
	while (!atomic_load_explicit(&is_set, memory_order_relaxed)) {
		back_off();
		nr_looks++;
	}
	return arg;
}

static void run_flag(uint64_t ms)
{
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000),
			       .tv_nsec = (long)(ms % 1000) * 1000000 };
	pthread_t thread;

	must(pthread_create(&thread, NULL, wait_for_flag, NULL) == 0,
	     "no thread");
	nanosleep(&ts, NULL);
	atomic_store(&is_set, true);
	pthread_join(thread, NULL);
}

static void (*kind_named(const char *name))(void)
{
	for (int i = 0; i < NR_KINDS; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].back_off;
	}
	fprintf(stderr, "bench_backoff: no kind %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	double wall_ns = clock_ns(CLOCK_MONOTONIC);
	double cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t nr = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	if (argc == 5 && strcmp(argv[1], "queue") == 0 && nr > 0 &&
	    nr <= MOST_THREADS) {
		back_off = kind_named(argv[2]);
		run_queue(nr, strtoull(argv[4], NULL, 10));
	} else if (argc == 4 && strcmp(argv[1], "flag") == 0) {
		back_off = kind_named(argv[2]);
		run_flag(nr);
	} else {
		for (int i = 0; i < NR_KINDS; i++)
			puts(kinds[i].name);
		return argc == 1 ? 0 : 2;
	}
	if (nr_looks > 0)
		printf("looks %" PRIu64 "\n", nr_looks);
	printf("wall_ms %.3f\n",
	       (clock_ns(CLOCK_MONOTONIC) - wall_ns) / NS_PER_MS);
	printf("cpu_ms %.3f\n",
	       (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / NS_PER_MS);
	return 0;
}
