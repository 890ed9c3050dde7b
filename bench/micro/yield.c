/* sched_yield by 2 and by 1000 threads that do nothing else. */
#include <sched.h>

#include "bench.h"

#define MAX_THREADS 1000

static pthread_barrier_t start_line;
static long nr_yields;

static void *yielder(void *arg)
{
	pthread_barrier_wait(&start_line);
	for (long i = 0; i < nr_yields; i++)
		sched_yield();
	return arg;
}

static void measure(const char *name, int nr_threads, long nr_ops)
{
	pthread_t threads[MAX_THREADS];
	uint64_t start_ns;

	nr_yields = nr_ops / nr_threads + 1;
	pthread_barrier_init(&start_line, NULL, (unsigned int)nr_threads + 1);
	for (int i = 0; i < nr_threads; i++)
		bench_create(&threads[i], yielder, NULL);
	start_ns = bench_now_ns();
	pthread_barrier_wait(&start_line);
	for (int i = 0; i < nr_threads; i++)
		bench_join(threads[i]);
	bench_report(name, start_ns, nr_yields * nr_threads);
	pthread_barrier_destroy(&start_line);
}

int main(int argc, char **argv)
{
	long nr_ops = bench_scale(argc, argv, 500000);

	measure("yield_2_threads", 2, nr_ops);
	measure("yield_1000_threads", MAX_THREADS, nr_ops);
	return 0;
}
