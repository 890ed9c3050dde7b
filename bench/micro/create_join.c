/* SPDX-License-Identifier: MIT */
/* Threads that do nothing: COUNT are created, then joined. */
#include "bench.h"

static pthread_t *threads;
static long batch;

static void *nothing(void *arg)
{
	return arg;
}

static uint64_t create_and_join(long *nr_ops)
{
	long nr_batches = *nr_ops / batch + 1;
	uint64_t start_ns = bench_busy_ns();

	*nr_ops = nr_batches * batch;
	for (long n = 0; n < nr_batches; n++) {
		for (long i = 0; i < batch; i++)
			bench_create(&threads[i], nothing, NULL);
		for (long i = 0; i < batch; i++)
			bench_join(threads[i]);
	}
	return bench_busy_ns() - start_ns;
}

int main(int argc, char **argv)
{
	char name[64];

	batch = bench_count(argc, argv, 1);
	threads = calloc((size_t)batch, sizeof(*threads));
	if (threads == NULL)
		return 1;
	snprintf(name, sizeof(name), "create_join_%ld", batch);
	bench_measure(argc, argv, name, create_and_join);
	free(threads);
	return 0;
}
