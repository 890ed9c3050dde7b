/* SPDX-License-Identifier: MIT */
/* COUNT threads want the same mutex all the time, and hold it shortly. */
#include "crew.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static long expected;

static void locks(int me, long nr_ops)
{
	(void)me;
	for (long i = 0; i < nr_ops; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
}

static uint64_t run(long *nr_ops)
{
	uint64_t ns = crew_run(nr_ops);

	expected += *nr_ops;
	if (counter != expected) {
		fprintf(stderr, "counted %ld of %ld\n", counter, expected);
		exit(1);
	}
	return ns;
}

int main(int argc, char **argv)
{
	int nr_threads = (int)bench_count(argc, argv, 2);
	char name[64];

	snprintf(name, sizeof(name), "contended_%d", nr_threads);
	crew_start(nr_threads, locks);
	bench_measure(argc, argv, name, run);
	return 0;
}
