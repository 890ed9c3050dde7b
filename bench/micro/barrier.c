/* SPDX-License-Identifier: MIT */
/* COUNT threads meet at a barrier again and again. One operation is one
 * thread's arrival, so a round is COUNT of them. */
#include "crew.h"

static pthread_barrier_t meeting;

static void meet(int me, long nr_ops)
{
	(void)me;
	for (long i = 0; i < nr_ops; i++)
		pthread_barrier_wait(&meeting);
}

int main(int argc, char **argv)
{
	int nr_threads = (int)bench_count(argc, argv, 100);
	char name[64];

	snprintf(name, sizeof(name), "barrier_%d", nr_threads);
	pthread_barrier_init(&meeting, NULL, (unsigned int)nr_threads);
	crew_start(nr_threads, meet);
	bench_measure(argc, argv, name, crew_run);
	return 0;
}
