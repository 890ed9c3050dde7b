/* SPDX-License-Identifier: MIT */
/*
 * The creation of a thread and its join, each measured apart, of BATCH threads
 * at a time. Their stacks are so small that NPTL keeps all of them for the next
 * threads. The second argument says which:
 *
 * create      the threads end at once;
 * join        the threads wait; each is woken, ends, and is joined: the join
 *             waits for it;
 * join_ended  all threads have come to their end before the first is joined.
 */
#include <semaphore.h>
#include <stdatomic.h>

#include "../../micro/bench.h"

/* NPTL keeps 40 MiB of stacks. */
enum { BATCH = 100, STACK_BYTES = 256 << 10 };

static pthread_t threads[BATCH];
static pthread_attr_t attr;
static sem_t gates[BATCH];
static _Atomic int nr_there;
static sem_t all_there;

/*
 * The last thread of a batch wakes the caller. The caller does not wait by
 * sched_yield(), which may take long beside other programs.
 */
static void be_there(void)
{
	if (atomic_fetch_add_explicit(&nr_there, 1, memory_order_relaxed) + 1 ==
	    BATCH)
		sem_post(&all_there);
}

static void await_all(void)
{
	while (sem_wait(&all_there) != 0)
		;
	atomic_store_explicit(&nr_there, 0, memory_order_relaxed);
}

static void *end(void *arg)
{
	be_there();
	return arg;
}

static void *wait_at_gate(void *arg)
{
	be_there();
	while (sem_wait(arg) != 0)
		;
	return arg;
}

static void create_all(void *(*start)(void *))
{
	int error;

	for (int i = 0; i < BATCH; i++) {
		error = pthread_create(&threads[i], &attr, start, &gates[i]);
		if (error != 0)
			bench_impossible("pthread_create", error);
	}
}

static void join_all(void)
{
	for (int i = 0; i < BATCH; i++)
		bench_join(threads[i]);
}

static void wake_and_join_all(void)
{
	for (int i = 0; i < BATCH; i++) {
		sem_post(&gates[i]);
		bench_join(threads[i]);
	}
}

/*
 * Each function makes a batch of threads and returns the time of its part in
 * ns.
 */

static uint64_t create(void)
{
	uint64_t start_ns = bench_busy_ns(), end_ns;

	create_all(end);
	end_ns = bench_busy_ns();
	await_all();
	join_all();
	return end_ns - start_ns;
}

static uint64_t join(void)
{
	uint64_t start_ns;

	create_all(wait_at_gate);
	await_all();
	start_ns = bench_busy_ns();
	wake_and_join_all();
	return bench_busy_ns() - start_ns;
}

static uint64_t join_ended(void)
{
	uint64_t start_ns;

	create_all(end);
	await_all();
	start_ns = bench_busy_ns();
	join_all();
	return bench_busy_ns() - start_ns;
}

static const struct {
	const char *name;
	uint64_t (*run)(void);
} parts[] = {
	{ "create", create },
	{ "join", join },
	{ "join_ended", join_ended },
};

static uint64_t (*batch)(void);

static uint64_t batches(long *nr_ops)
{
	long nr_batches = *nr_ops / BATCH + 1;
	uint64_t sum_ns = 0;

	*nr_ops = nr_batches * BATCH;
	for (long n = 0; n < nr_batches; n++)
		sum_ns += batch();
	return sum_ns;
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 2 ? argv[2] : "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, wanted) == 0)
			batch = parts[i].run;
	}
	if (batch == NULL) {
		fprintf(stderr, "usage: %s PERCENT create|join|join_ended\n",
			argv[0]);
		return 2;
	}
	sem_init(&all_there, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 0; i < BATCH; i++)
		sem_init(&gates[i], 0, 0);
	bench_measure(argc, argv, wanted, batches);
	return 0;
}
