/* SPDX-License-Identifier: MIT */
/*
 * Threads pass tokens on. A bound thread now and then takes a token and puts it
 * back. The other threads must notice it, whatever they are doing at that
 * moment.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_PLAYERS = 3, NR_SEMS = 2, NR_TOKENS = 1, NR_VISITS = 300 };

static sem_t sems[NR_SEMS];
static _Atomic bool is_over;

static void take(sem_t *s)
{
	while (sem_wait(s) != 0)
		;
}

static void *play(void *arg)
{
	for (unsigned int i = 0; !is_over; i++) {
		take(&sems[i % NR_SEMS]);
		CHECK_EQ(sem_post(&sems[(i + 1) % NR_SEMS]), 0);
	}
	return arg;
}

static void *come_by(void *arg)
{
	for (int i = 0; i < NR_VISITS; i++) {
		sem_t *s = &sems[i % NR_SEMS];

		usleep(1000 + i % 100);
		take(s);
		CHECK_EQ(sem_post(s), 0);
	}
	is_over = true;
	/* Ends the waits for tokens that no player would bring. */
	for (int i = 0; i < NR_PLAYERS * NR_SEMS; i++)
		CHECK_EQ(sem_post(&sems[i % NR_SEMS]), 0);
	return arg;
}

int main(void)
{
	pthread_t players[NR_PLAYERS], bound;
	pthread_attr_t attr;
	int nr_tokens = 0;
	cpu_set_t one;

	for (int i = 0; i < NR_SEMS; i++)
		CHECK_EQ(sem_init(&sems[i], 0, i == 0 ? NR_TOKENS : 0), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(one), &one), 0);
	CHECK_EQ(pthread_create(&bound, &attr, come_by, NULL), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	for (int i = 0; i < NR_PLAYERS; i++)
		players[i] = thread_start(play, NULL);
	for (int i = 0; i < NR_PLAYERS; i++)
		thread_join(players[i]);
	thread_join(bound);
	for (int i = 0; i < NR_SEMS; i++) {
		while (sem_trywait(&sems[i]) == 0)
			nr_tokens++;
	}
	CHECK_EQ(nr_tokens, NR_TOKENS + NR_PLAYERS * NR_SEMS);
	puts("all tokens are there");
	return 0;
}
