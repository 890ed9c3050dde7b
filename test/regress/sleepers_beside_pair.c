/*
 * Two threads wake each other all the time; 300 others sleep for a millisecond
 * again and again. Whose time is over runs though the two never stop: natively
 * they wake each other a few times for each sleep that ends.
 */
#include <semaphore.h>
#include <stdio.h>

#include "threading.h"

enum { NR_SLEEPERS = 300, NR_SLEEPS = 20, ROUNDS_PER_SLEEP = 3000 };

static sem_t turn[2];
static _Atomic int is_over;
static long nr_rounds;

static void *play(void *arg)
{
	long me = (intptr_t)arg;

	while (!is_over) {
		CHECK_EQ(sem_wait(&turn[me]), 0);
		nr_rounds += me;
		CHECK_EQ(sem_post(&turn[!me]), 0);
	}
	return NULL;
}

static void *sleep_often(void *arg)
{
	for (int i = 0; i < NR_SLEEPS; i++)
		sleep_ms(1);
	return arg;
}

int main(void)
{
	static pthread_t players[2], sleepers[NR_SLEEPERS];

	CHECK_EQ(sem_init(&turn[0], 0, 1), 0);
	CHECK_EQ(sem_init(&turn[1], 0, 0), 0);
	threads_start_numbered(players, 2, play);
	threads_start(sleepers, NR_SLEEPERS, sleep_often, NULL);
	threads_join(sleepers, NR_SLEEPERS);
	is_over = 1;
	CHECK_EQ(sem_post(&turn[0]), 0);
	CHECK_EQ(sem_post(&turn[1]), 0);
	threads_join(players, 2);
	CHECK(nr_rounds / (NR_SLEEPERS * NR_SLEEPS) < ROUNDS_PER_SLEEP);
	printf("both kinds ran\n");
	return 0;
}
