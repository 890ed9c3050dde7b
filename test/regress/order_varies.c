/* SPDX-License-Identifier: MIT */
/*
 * One thread fills a queue that eight other threads empty: each of the eight
 * must get something. If CPU-bound threads always run in the same order, only
 * the thread behind the filling one ever does.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum { NR_TAKERS = 8 };

static atomic_long made;
static atomic_int nr_without = NR_TAKERS;

static void *take(void *arg)
{
	bool *has_got = arg;

	while (atomic_load(&nr_without) > 0) {
		if (atomic_exchange(&made, 0) > 0 && !*has_got) {
			*has_got = true;
			atomic_fetch_sub(&nr_without, 1);
		}
	}
	return NULL;
}

int main(void)
{
	static bool has_got[NR_TAKERS];
	pthread_t takers[NR_TAKERS];

	for (int i = 0; i < NR_TAKERS; i++) {
		if (pthread_create(&takers[i], NULL, take, &has_got[i]) != 0) {
			puts("no thread");
			return 1;
		}
	}
	while (atomic_load(&nr_without) > 0)
		atomic_fetch_add(&made, 1);
	for (int i = 0; i < NR_TAKERS; i++)
		pthread_join(takers[i], NULL);
	puts("each has got something");
	return 0;
}
