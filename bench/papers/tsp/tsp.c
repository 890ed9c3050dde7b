/*
 * The travelling salesman on a complete graph, exactly, by branch and bound.
 *
 *     tsp CITIES [THREADS [PERCENT]]
 *
 * Tours of few cities lie in a queue. Each thread takes one, tries all ways to
 * go on, and leaves a way as soon as it is as long as the best tour that any
 * thread has found. With 0 threads the caller does the same without threads
 * and locks. Prints the length of the shortest tour and the
 * nanoseconds of one search, threads made and joined, of as many searches as
 * take a while (PERCENT of the usual).
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "../../micro/bench.h"

enum { MIN_CITIES = 4, MAX_CITIES = 16, MAX_THREADS = 64 };

/* A tour that begins at city 0. */
struct tour {
	int nr, length;
	unsigned int visited; /* a bit for each city */
	unsigned char city[MAX_CITIES];
};

static int nr_cities;
static int distance[MAX_CITIES][MAX_CITIES];
static int nr_threads;

/* The work queue: tours of three cities, which never become more. */
static struct tour queue[MAX_CITIES * MAX_CITIES];
static int nr_queued;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;

/* The bound: written with the mutex, read without, for an old value only
 * means work in vain. */
static _Atomic int best;
static pthread_mutex_t best_mutex = PTHREAD_MUTEX_INITIALIZER;

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
	if (nr_threads > 0)
		pthread_mutex_lock(&best_mutex);
	if (length < bound())
		set_bound(length);
	if (nr_threads > 0)
		pthread_mutex_unlock(&best_mutex);
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

static void search(struct tour *tour)
{
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

	if (nr_threads > 0)
		pthread_mutex_lock(&queue_mutex);
	has_one = nr_queued > 0;
	if (has_one)
		*ret_tour = queue[--nr_queued];
	if (nr_threads > 0)
		pthread_mutex_unlock(&queue_mutex);
	return has_one;
}

static void *worker(void *arg)
{
	struct tour tour;

	while (take(&tour))
		search(&tour);
	return arg;
}

static void search_all(void)
{
	pthread_t threads[MAX_THREADS];

	set_bound(INT32_MAX);
	fill_queue();
	if (nr_threads == 0)
		worker(NULL);
	for (int i = 0; i < nr_threads; i++)
		bench_create(&threads[i], worker, NULL);
	for (int i = 0; i < nr_threads; i++)
		bench_join(threads[i]);
}

static uint64_t searches(long *nr_ops)
{
	uint64_t start_ns = bench_now_ns();
	int length = 0;

	for (long i = 0; i < *nr_ops; i++) {
		search_all();
		if (length != 0 && bound() != length) {
			fprintf(stderr, "two shortest tours\n");
			exit(1);
		}
		length = bound();
	}
	return bench_now_ns() - start_ns;
}

int main(int argc, char **argv)
{
	char *measure_argv[2] = { argv[0], argc > 3 ? argv[3] : "100" };

	nr_cities = argc > 1 ? atoi(argv[1]) : 0;
	nr_threads = argc > 2 ? atoi(argv[2]) : 0;
	if (nr_cities < MIN_CITIES || nr_cities > MAX_CITIES ||
	    nr_threads < 0 || nr_threads > MAX_THREADS) {
		fprintf(stderr, "usage: %s CITIES [THREADS [PERCENT]]\n",
			argv[0]);
		return 2;
	}
	make_cities();
	bench_measure(2, measure_argv, "search", searches);
	printf("length %d\n", bound());
	return 0;
}
