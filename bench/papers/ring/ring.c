/* SPDX-License-Identifier: MIT */
/*
 * usage: bench_ring PERCENT N WAY [random]
 *
 * Prints the one-way latency, which is the time of a round by the number of
 * threads, and the CPU seconds used in each second.
 */
#include <semaphore.h>
#include <unistd.h>

#include "ring.h"

enum { ROUND_LIMIT_S = 10, STACK_BYTES = 64 * 1024, SEED = 1 };

struct member *members;
long nr_members;

static const struct way *way;
static sem_t arrived;
/* Only the thread with the token uses them. Each hop has new data. */
static long nr_hops;
static uint64_t last_data;

void *ring_allocate(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

	if (memory == NULL)
		bench_impossible("memory", ENOMEM);
	memset(memory, 0, bytes);
	return memory;
}

static void pass(long to, uint64_t data)
{
	atomic_store_explicit(&members[to].buffer, data, memory_order_release);
	way->pass(to);
}

static void *member(void *arg)
{
	long me = (long)(intptr_t)arg;

	for (;;) {
		uint64_t data;

		way->wait(me);
		data = atomic_load_explicit(&members[me].buffer,
					    memory_order_acquire);
		last_data = data;
		if (--nr_hops > 0)
			pass(members[me].next, data + 1);
		else
			sem_post(&arrived);
	}
	return NULL;
}

/* --- measuring ---------------------------------------------------------- */

static void await_arrival(void)
{
	struct timespec limit;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += ROUND_LIMIT_S;
	while (sem_clockwait(&arrived, CLOCK_MONOTONIC, &limit) != 0) {
		if (errno != ETIMEDOUT)
			continue;
		printf("impossible: a round takes more than %d s\n",
		       ROUND_LIMIT_S);
		fflush(stdout);
		_exit(77);
	}
}

/* Returns the time of that many rounds in ns; also stores the CPU time. */
static uint64_t run(long nr_rounds, uint64_t *ret_real, uint64_t *ret_cpu)
{
	uint64_t start = bench_busy_ns(), real = bench_now_ns();
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	nr_hops = nr_rounds * nr_members;
	pass(0, last_data + 1);
	await_arrival();
	*ret_real = bench_now_ns() - real;
	*ret_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return bench_busy_ns() - start;
}

/* Makes more and more rounds until they take long enough; the last counts. */
static void measure(double wanted_ns)
{
	long nr_rounds = 1;

	for (;;) {
		uint64_t real, cpu;
		double ns = (double)run(nr_rounds, &real, &cpu);
		double grow = 1.2 * wanted_ns / ((double)real + 1);

		if ((double)real >= wanted_ns) {
			bench_print("latency",
				    ns / (double)(nr_rounds * nr_members));
			bench_print("cpu", (double)cpu / (double)real);
			return;
		}
		nr_rounds =
			(long)((double)nr_rounds * (grow < 30 ? grow : 30)) + 1;
	}
}

/* --- making the ring ---------------------------------------------------- */

static void link_members(bool is_random)
{
	long *order = ring_allocate((size_t)nr_members * sizeof(*order));

	for (long i = 0; i < nr_members; i++)
		order[i] = i;
	srand(SEED);
	for (long i = nr_members - 1; is_random && i > 0; i--) {
		long k = rand() % (i + 1), swapped = order[i];

		order[i] = order[k];
		order[k] = swapped;
	}
	for (long i = 0; i < nr_members; i++)
		members[order[i]].next = order[(i + 1) % nr_members];
	free(order);
}

static void start_members(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (long i = 0; i < nr_members; i++) {
		int err = pthread_create(&members[i].thread, &attr, member,
					 (void *)(intptr_t)i);

		if (err != 0)
			bench_impossible("pthread_create", err);
	}
}

static const struct way *find_way(const struct way *ways, const char *name)
{
	for (; ways->name != NULL; ways++) {
		if (strcmp(ways->name, name) == 0)
			return ways;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 3 ? argv[3] : "";

	nr_members = bench_count(argc, argv, 5);
	way = find_way(ring_ways, name);
	if (way == NULL)
		way = find_way(ring_word_ways, name);
	if (way == NULL) {
		fprintf(stderr, "usage: %s PERCENT N WAY [random]\n", argv[0]);
		return 2;
	}
	members = ring_allocate((size_t)nr_members * sizeof(*members));
	link_members(argc > 4 && strcmp(argv[4], "random") == 0);
	sem_init(&arrived, 0, 0);
	way->prepare();
	start_members();
	way->begin();
	measure((double)bench_scale(argc, argv, 200) * 1e6);
	return 0;
}
