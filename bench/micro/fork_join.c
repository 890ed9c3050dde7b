/* SPDX-License-Identifier: MIT */
/*
 * The naive recursive Fibonacci with a thread for each left branch: the cost
 * of a thread when many are made and joined in a tree. Every thread needs
 * little stack; the attribute keeps native threads within memory limits.
 */
#include "bench.h"

#define STACK_BYTES (64 * 1024)
#define N 15
#define FIB_N 610

static pthread_attr_t small;

struct call {
	int n;
	long result;
};

static long nr_threads_of(int n)
{
	return n < 2 ? 0 : 1 + nr_threads_of(n - 1) + nr_threads_of(n - 2);
}

static void *fib(void *arg)
{
	struct call *call = arg;
	struct call left = { .n = call->n - 1 };
	struct call right = { .n = call->n - 2 };
	pthread_t thread;
	int error;

	if (call->n < 2) {
		call->result = call->n;
		return NULL;
	}
	error = pthread_create(&thread, &small, fib, &left);
	if (error != 0)
		bench_impossible("pthread_create", error);
	fib(&right);
	bench_join(thread);
	call->result = left.result + right.result;
	return NULL;
}

static uint64_t rounds(long *nr_ops)
{
	long nr_threads = nr_threads_of(N);
	long nr_rounds = *nr_ops / nr_threads + 1;
	uint64_t start_ns = bench_busy_ns();

	*nr_ops = nr_rounds * nr_threads;
	for (long i = 0; i < nr_rounds; i++) {
		struct call call = { .n = N };

		fib(&call);
		if (call.result != FIB_N) {
			fprintf(stderr, "wrong: %ld\n", call.result);
			exit(1);
		}
	}
	return bench_busy_ns() - start_ns;
}

int main(int argc, char **argv)
{
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	bench_measure(argc, argv, "fork_join_fib", rounds);
	return 0;
}
