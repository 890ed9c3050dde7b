/* SPDX-License-Identifier: MIT */
/*
 * Two threads wake each other all the time, while 300 others sleep for a
 * millisecond in a loop. A sleeper must run soon after its deadline, although
 * the pair never stops. Natively the pair switches a few times for each sleep
 * that ends.
 */
#include <semaphore.h>

#include "beside.h"

static sem_t turn[2];

static void play(int i)
{
	CHECK_EQ(sem_wait(&turn[i]), 0);
	CHECK_EQ(sem_post(&turn[!i]), 0);
}

static void nap(int i)
{
	sleep_ms(1);
}

static void let_both_end(void)
{
	CHECK_EQ(sem_post(&turn[0]), 0);
	CHECK_EQ(sem_post(&turn[1]), 0);
}

int main(void)
{
	CHECK_EQ(sem_init(&turn[0], 0, 1), 0);
	CHECK_EQ(sem_init(&turn[1], 0, 0), 0);
	return beside(&(struct beside){ .busy = play,
					.nr_busy = 2,
					.end = let_both_end,
					.waiting = nap,
					.nr_waiting = 300,
					.nr_steps = 20,
					.most = 6000 });
}
