/*
 * Lock and unlock of a mutex that nobody else wants, in a process that has
 * another thread: without one glibc may leave out the atomic operation.
 */
#include "bench.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *sleeper(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return arg;
}

int main(int argc, char **argv)
{
	long nr_ops = bench_scale(argc, argv, 10000000);
	uint64_t start_ns;
	pthread_t thread;

	pthread_mutex_lock(&gate);
	bench_create(&thread, sleeper, NULL);
	start_ns = bench_now_ns();
	for (long i = 0; i < nr_ops; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	bench_report("mutex_uncontended", start_ns, nr_ops);
	pthread_mutex_unlock(&gate);
	bench_join(thread);
	return 0;
}
