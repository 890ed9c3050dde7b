/*
 * The naive recursive Fibonacci with a thread for each left branch: the cost
 * of a thread when many are made and joined in a tree. Every thread needs
 * little stack; the attribute keeps native threads within memory limits.
 */
#include "bench.h"

#define STACK_BYTES (64 * 1024)

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

	if (call->n < 2) {
		call->result = call->n;
		return NULL;
	}
	if (pthread_create(&thread, &small, fib, &left) != 0) {
		fprintf(stderr, "pthread_create failed\n");
		exit(1);
	}
	fib(&right);
	bench_join(thread);
	call->result = left.result + right.result;
	return NULL;
}

int main(int argc, char **argv)
{
	long nr_rounds = bench_scale(argc, argv, 20);
	long nr_threads = nr_threads_of(15);
	uint64_t start_ns;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	start_ns = bench_now_ns();
	for (long i = 0; i < nr_rounds; i++) {
		struct call call = { .n = 15 };

		fib(&call);
		if (call.result != 610) {
			fprintf(stderr, "wrong: %ld\n", call.result);
			return 1;
		}
	}
	bench_report("fork_join_fib", start_ns, nr_rounds * nr_threads);
	return 0;
}
