/* SPDX-License-Identifier: MIT */
/*
 * The travelling salesman on a complete graph, exactly, by branch and bound.
 *
 *     tsp CITIES [THREADS [PERCENT [LOCK [PAIRS]]]]
 *
 * Beginnings of tours, of few cities, lie in a queue. Each thread takes one and
 * tries all ways to go on. It leaves a way as soon as that is as long as the
 * best tour that any thread has found. With 0 threads the caller does the same
 * without threads and locks. Prints the length of the shortest tour and the
 * nanoseconds of one search, with making and joining its threads. The search is
 * repeated for a while (PERCENT of the usual time).
 *
 * LOCK is the kind of the locks: a name of ../locks/locks.h. With PAIRS each
 * thread locks and unlocks that often for each city that it visits, to count
 * its visit. The sum must be that of the threads' own counts.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../../micro/bench.h"
#include "locks.h"

enum { MIN_CITIES = 4, MAX_CITIES = 16, MAX_THREADS = LOCK_MAX_THREADS };

/* A tour that begins at city 0. */
struct tour {
	int nr, length;
	unsigned int visited; /* a bit for each city */
	unsigned char city[MAX_CITIES];
};

static int nr_cities;
static int distance[MAX_CITIES][MAX_CITIES];
static int nr_threads;

/* The work queue of tours with three cities; no tour is added later. */
static struct tour queue[MAX_CITIES * MAX_CITIES];
static int nr_queued;

/* The bound: written with a lock, read without, for an old value only means
 * work in vain. */
static _Atomic int best;

/*
 * Visits are counted under a lock by all threads, in their own cache line, and
 * by each thread for itself.
 */
static int nr_pairs;
static struct {
	_Alignas(64) volatile long nr;
} visits;
static _Thread_local long nr_own_visits;
static long nr_visits_of[MAX_THREADS];

static const struct lock_kind *kind;
static struct lock *queue_lock, *best_lock, *visits_lock;

/* The calling thread's number, for the locks. */
static _Thread_local int me;

static void lock(struct lock *l)
{
	if (nr_threads > 0)
		kind->lock(l, me);
}

static void unlock(struct lock *l)
{
	if (nr_threads > 0)
		kind->unlock(l, me);
}

/* Cities on a plane, the same ones for every variant. */
static void make_cities(void)
{
	unsigned int seed = 12345;
	int x[MAX_CITIES], y[MAX_CITIES];

	for (int i = 0; i < nr_cities; i++) {
		x[i] = rand_r(&seed) % 1000;
		y[i] = rand_r(&seed) % 1000;
	}
	for (int i = 0; i < nr_cities; i++) {
		for (int j = 0; j < nr_cities; j++)
			distance[i][j] = abs(x[i] - x[j]) + abs(y[i] - y[j]);
	}
}

static int bound(void)
{
	return atomic_load_explicit(&best, memory_order_relaxed);
}

static void set_bound(int length)
{
	atomic_store_explicit(&best, length, memory_order_relaxed);
}

static void found(int length)
{
	lock(best_lock);
	if (length < bound())
		set_bound(length);
	unlock(best_lock);
}

static void extend(struct tour *tour, int city)
{
	tour->length += distance[tour->city[tour->nr - 1]][city];
	tour->city[tour->nr++] = (unsigned char)city;
	tour->visited |= 1u << city;
}

static void shrink(struct tour *tour)
{
	int city = tour->city[--tour->nr];

	tour->length -= distance[tour->city[tour->nr - 1]][city];
	tour->visited &= ~(1u << city);
}

static void count_visit(void)
{
	for (int i = 0; i < nr_pairs; i++) {
		lock(visits_lock);
		visits.nr = visits.nr + 1;
		unlock(visits_lock);
	}
	nr_own_visits += nr_pairs;
}

static void search(struct tour *tour)
{
	if (nr_pairs > 0)
		count_visit();
	if (tour->length >= bound())
		return;
	if (tour->nr == nr_cities) {
		found(tour->length + distance[tour->city[tour->nr - 1]][0]);
		return;
	}
	for (int city = 1; city < nr_cities; city++) {
		if (tour->visited & 1u << city)
			continue;
		extend(tour, city);
		search(tour);
		shrink(tour);
	}
}

static void fill_queue(void)
{
	struct tour tour = { .nr = 1, .visited = 1 };

	nr_queued = 0;
	for (int a = 1; a < nr_cities; a++) {
		for (int b = 1; b < nr_cities; b++) {
			if (a == b)
				continue;
			extend(&tour, a);
			extend(&tour, b);
			queue[nr_queued++] = tour;
			shrink(&tour);
			shrink(&tour);
		}
	}
}

static bool take(struct tour *ret_tour)
{
	bool has_one;

	lock(queue_lock);
	has_one = nr_queued > 0;
	if (has_one)
		*ret_tour = queue[--nr_queued];
	unlock(queue_lock);
	return has_one;
}

static void *worker(void *arg)
{
	struct tour tour;

	me = (int)(intptr_t)arg;
	nr_own_visits = 0;
	while (take(&tour))
		search(&tour);
	nr_visits_of[me] = nr_own_visits;
	return arg;
}

static void search_all(void)
{
	pthread_t threads[MAX_THREADS];

	set_bound(INT32_MAX);
	fill_queue();
	visits.nr = 0;
	if (nr_threads == 0)
		worker(NULL);
	for (int i = 0; i < nr_threads; i++)
		bench_create(&threads[i], worker, (void *)(intptr_t)i);
	for (int i = 0; i < nr_threads; i++)
		bench_join(threads[i]);
}

static void check_visits(void)
{
	long sum = 0;

	for (int i = 0; i < MAX_THREADS; i++)
		sum += nr_visits_of[i];
	if (visits.nr != sum) {
		fprintf(stderr, "%ld visits lost\n", sum - visits.nr);
		exit(1);
	}
}

static uint64_t searches(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();
	int length = 0;

	for (long i = 0; i < *nr_ops; i++) {
		search_all();
		check_visits();
		if (length != 0 && bound() != length) {
			fprintf(stderr, "two shortest tours\n");
			exit(1);
		}
		length = bound();
	}
	return bench_now_ns() - start_ns;
}

static void make_lock(struct lock **ret_lock)
{
	*ret_lock = lock_new(kind, nr_threads > 0 ? nr_threads : 1);
	if (*ret_lock == NULL)
		bench_impossible(kind->name, errno);
}

static void make_locks(void)
{
	const char *why = lock_kind_unfit(kind, nr_threads);

	if (why != NULL) {
		printf("impossible: %s: %s\n", kind->name, why);
		exit(77);
	}
	make_lock(&queue_lock);
	make_lock(&best_lock);
	make_lock(&visits_lock);
}

static bool parse(int argc, char **argv)
{
	nr_cities = argc > 1 ? atoi(argv[1]) : 0;
	nr_threads = argc > 2 ? atoi(argv[2]) : 0;
	kind = lock_kind_named(argc > 4 ? argv[4] : "mutex");
	nr_pairs = argc > 5 ? atoi(argv[5]) : 0;
	return nr_cities >= MIN_CITIES && nr_cities <= MAX_CITIES &&
	       nr_threads >= 0 && nr_threads <= MAX_THREADS && kind != NULL &&
	       nr_pairs >= 0;
}

int main(int argc, char **argv)
{
	char *measure_argv[2] = { argv[0], argc > 3 ? argv[3] : "100" };

	if (!parse(argc, argv)) {
		fprintf(stderr,
			"usage: %s CITIES [THREADS [PERCENT [LOCK [PAIRS]]]]\n",
			argv[0]);
		return 2;
	}
	make_locks();
	make_cities();
	bench_measure(2, measure_argv, "search", searches);
	printf("length %d\n", bound());
	return 0;
}
