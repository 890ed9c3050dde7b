/* SPDX-License-Identifier: MIT */
/* Two threads that compute beside 50 pairs that play ping-pong. */
#include <semaphore.h>

#include "fair.h"

enum { NR_WORKERS = 2, NR_PAIRS = 50, RUN_MS = 1000 };

static struct pair {
	_Alignas(128) sem_t ping;
	sem_t pong;
	volatile uint64_t rounds;
	pthread_t first, second;
} pairs[NR_PAIRS];

static struct fair_worker workers[NR_WORKERS];
static volatile int stop, pairs_stop;

static void *ping(void *arg)
{
	struct pair *pair = arg;

	while (!pairs_stop) {
		sem_post(&pair->ping);
		sem_wait(&pair->pong);
		pair->rounds++;
	}
	sem_post(&pair->ping);
	return NULL;
}

static void *pong(void *arg)
{
	struct pair *pair = arg;

	while (!pairs_stop) {
		sem_wait(&pair->ping);
		sem_post(&pair->pong);
	}
	sem_post(&pair->pong);
	return NULL;
}

int main(void)
{
	uint64_t rounds = 0;

	fair_workers_start(workers, NR_WORKERS, NULL, &stop);
	for (int i = 0; i < NR_PAIRS; i++) {
		sem_init(&pairs[i].ping, 0, 0);
		sem_init(&pairs[i].pong, 0, 0);
		pairs[i].first = fair_create(ping, &pairs[i]);
		pairs[i].second = fair_create(pong, &pairs[i]);
	}
	fair_sleep_ns(RUN_MS * 1000000LL);
	for (int i = 0; i < NR_PAIRS; i++)
		rounds += pairs[i].rounds;
	pairs_stop = 1;
	fair_workers_report(workers, NR_WORKERS, &stop, "work");
	for (int i = 0; i < NR_PAIRS; i++) {
		pthread_join(pairs[i].first, NULL);
		pthread_join(pairs[i].second, NULL);
	}
	fair_report("rounds", (double)rounds);
	return 0;
}
