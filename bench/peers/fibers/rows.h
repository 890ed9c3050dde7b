/* SPDX-License-Identifier: MIT */
/*
 * The rows of operations for libraries of user-level threads that are written
 * in C or C++. A peer includes this file and defines the functions that are
 * declared first. Its main() makes itself a thread of its library and calls
 * rows_main(), which runs one row:
 *
 *     PROGRAM PERCENT ROW COUNT
 *
 * It prints a line "ROW_COUNT NS_PER_OPERATION", as the micro benchmarks do.
 * The rows are those of bench/micro, and turns_mutex of bench/papers/nptl.
 */
#ifndef PEERS_ROWS_H
#define PEERS_ROWS_H

#include <errno.h>

#include "../../micro/bench.h"

static void *peer_start(void *(*run)(void *), void *arg);
static void peer_join(void *thread);
static void peer_yield(void);

static void *peer_sem_new(int count);
static void peer_sem_wait(void *sem);
static void peer_sem_post(void *sem);

static void *peer_mutex_new(void);
static void peer_mutex_lock(void *mutex);
static void peer_mutex_unlock(void *mutex);

static void *peer_cond_new(void);
static void peer_cond_wait(void *cond, void *mutex);
static void peer_cond_signal(void *cond);

enum { NR_MUTEXES = 3 };

/* COUNT on the command line. */
static long rows_count;

static void *rows_allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		bench_impossible("memory", ENOMEM);
	return memory;
}

/* --- a crew that works in step ------------------------------------------- */

static struct {
	void (*work)(long me, long nr_ops);
	long nr_ops; /* per member */
	void **starts, *end;
} rows_crew;

static void *rows_member(void *arg)
{
	long me = (long)(intptr_t)arg;

	for (;;) {
		peer_sem_wait(rows_crew.starts[me]);
		rows_crew.work(me, rows_crew.nr_ops);
		peer_sem_post(rows_crew.end);
	}
	return NULL;
}

static void rows_crew_start(void (*work)(long me, long nr_ops))
{
	rows_crew.work = work;
	rows_crew.end = peer_sem_new(0);
	rows_crew.starts =
		(void **)rows_allocate((size_t)rows_count * sizeof(void *));
	for (long i = 0; i < rows_count; i++) {
		rows_crew.starts[i] = peer_sem_new(0);
		peer_start(rows_member, (void *)(intptr_t)i);
	}
}

static uint64_t rows_crew_run(long *nr_ops)
{
	uint64_t start_ns = bench_busy_ns();

	rows_crew.nr_ops = *nr_ops / rows_count + 1;
	*nr_ops = rows_crew.nr_ops * rows_count;
	for (long i = 0; i < rows_count; i++)
		peer_sem_post(rows_crew.starts[i]);
	for (long i = 0; i < rows_count; i++)
		peer_sem_wait(rows_crew.end);
	return bench_busy_ns() - start_ns;
}

/* --- the work of the crew ------------------------------------------------ */

static void rows_yield(long me, long nr_ops)
{
	(void)me;
	for (long i = 0; i < nr_ops; i++)
		peer_yield();
}

static void *rows_doors[2];

static void rows_turns_sem(long me, long nr_ops)
{
	for (long i = 0; i < nr_ops; i++) {
		peer_sem_wait(rows_doors[me]);
		peer_sem_post(rows_doors[1 - me]);
	}
}

static void *rows_mutex, *rows_cond;
static long rows_turn;

static void rows_turns_cond(long me, long nr_ops)
{
	for (long i = 0; i < nr_ops; i++) {
		peer_mutex_lock(rows_mutex);
		while (rows_turn != me)
			peer_cond_wait(rows_cond, rows_mutex);
		rows_turn = 1 - me;
		peer_cond_signal(rows_cond);
		peer_mutex_unlock(rows_mutex);
	}
}

static void *rows_mutexes[NR_MUTEXES];
static int rows_place[2] = { 0, 1 };
static int rows_is_placed[2];

/* As in turns_mutex.c, the first call only places the two members. */
static void rows_turns_mutex(long me, long nr_ops)
{
	if (!rows_is_placed[me]) {
		peer_mutex_lock(rows_mutexes[rows_place[me]]);
		rows_is_placed[me] = 1;
		return;
	}
	for (long i = 0; i < nr_ops; i++) {
		int next = (rows_place[me] + 1) % NR_MUTEXES;

		peer_mutex_lock(rows_mutexes[next]);
		peer_mutex_unlock(rows_mutexes[rows_place[me]]);
		rows_place[me] = next;
	}
}

/* --- threads that come and go -------------------------------------------- */

static void *rows_nothing(void *arg)
{
	return arg;
}

static void **rows_threads;

static uint64_t rows_create_join(long *nr_ops)
{
	long nr_batches = *nr_ops / rows_count + 1;
	uint64_t start_ns = bench_busy_ns();

	*nr_ops = nr_batches * rows_count;
	for (long n = 0; n < nr_batches; n++) {
		for (long i = 0; i < rows_count; i++)
			rows_threads[i] = peer_start(rows_nothing, NULL);
		for (long i = 0; i < rows_count; i++)
			peer_join(rows_threads[i]);
	}
	return bench_busy_ns() - start_ns;
}

/* --- a ring -------------------------------------------------------------- */

static void **rows_gates, *rows_arrived;
static long rows_hops;

static void *rows_ring_member(void *arg)
{
	long me = (long)(intptr_t)arg;

	for (;;) {
		peer_sem_wait(rows_gates[me]);
		if (--rows_hops > 0)
			peer_sem_post(rows_gates[(me + 1) % rows_count]);
		else
			peer_sem_post(rows_arrived);
	}
	return NULL;
}

static uint64_t rows_ring(long *nr_ops)
{
	uint64_t start_ns = bench_busy_ns();

	*nr_ops = (*nr_ops / rows_count + 1) * rows_count;
	rows_hops = *nr_ops;
	peer_sem_post(rows_gates[0]);
	peer_sem_wait(rows_arrived);
	return bench_busy_ns() - start_ns;
}

static void rows_ring_start(void)
{
	rows_gates =
		(void **)rows_allocate((size_t)rows_count * sizeof(void *));
	rows_arrived = peer_sem_new(0);
	for (long i = 0; i < rows_count; i++)
		rows_gates[i] = peer_sem_new(0);
	for (long i = 0; i < rows_count; i++)
		peer_start(rows_ring_member, (void *)(intptr_t)i);
}

/* --- the command line ---------------------------------------------------- */

/* Returns the function that measures a row, or NULL if there is no such row. */
static uint64_t (*rows_prepare(const char *row))(long *)
{
	long nr_ops = 1;

	if (strcmp(row, "create_join") == 0) {
		rows_threads = (void **)rows_allocate((size_t)rows_count *
						      sizeof(void *));
		return rows_create_join;
	}
	if (strcmp(row, "ring") == 0) {
		rows_ring_start();
		return rows_ring;
	}
	if (strcmp(row, "yield") == 0) {
		rows_crew_start(rows_yield);
		return rows_crew_run;
	}
	rows_count = 2;
	if (strcmp(row, "ping_pong_sem") == 0) {
		rows_doors[0] = peer_sem_new(1);
		rows_doors[1] = peer_sem_new(0);
		rows_crew_start(rows_turns_sem);
	} else if (strcmp(row, "ping_pong_cond") == 0) {
		rows_mutex = peer_mutex_new();
		rows_cond = peer_cond_new();
		rows_crew_start(rows_turns_cond);
	} else if (strcmp(row, "turns_mutex") == 0) {
		for (int i = 0; i < NR_MUTEXES; i++)
			rows_mutexes[i] = peer_mutex_new();
		rows_crew_start(rows_turns_mutex);
		rows_crew_run(&nr_ops);
	} else {
		return NULL;
	}
	return rows_crew_run;
}

static int rows_main(int argc, char **argv)
{
	uint64_t (*run)(long *) = NULL;
	char name[64];

	rows_count = argc == 4 ? atol(argv[3]) : 0;
	if (rows_count >= 1 && atol(argv[1]) >= 1)
		run = rows_prepare(argv[2]);
	if (run == NULL) {
		fprintf(stderr, "usage: %s PERCENT ROW COUNT\n", argv[0]);
		return 2;
	}
	snprintf(name, sizeof(name), "%s_%s", argv[2], argv[3]);
	bench_measure(argc, argv, name, run);
	return 0;
}

#endif
