/* Threads that do nothing: one at a time, and 1000 at a time. */
#include "bench.h"

#define BATCH 1000

static void *nothing(void *arg)
{
	return arg;
}

static void one_at_a_time(long nr_ops)
{
	uint64_t start_ns = bench_now_ns();
	pthread_t thread;

	for (long i = 0; i < nr_ops; i++) {
		bench_create(&thread, nothing, NULL);
		bench_join(thread);
	}
	bench_report("create_join", start_ns, nr_ops);
}

static void batches(long nr_batches)
{
	uint64_t start_ns = bench_now_ns();
	pthread_t threads[BATCH];

	for (long n = 0; n < nr_batches; n++) {
		for (int i = 0; i < BATCH; i++)
			bench_create(&threads[i], nothing, NULL);
		for (int i = 0; i < BATCH; i++)
			bench_join(threads[i]);
	}
	bench_report("create_1000_join_1000", start_ns, nr_batches * BATCH);
}

int main(int argc, char **argv)
{
	one_at_a_time(bench_scale(argc, argv, 20000));
	batches(bench_scale(argc, argv, 20));
	return 0;
}
