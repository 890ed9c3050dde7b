/* SPDX-License-Identifier: MIT */
/*
 * As many threads as the argument says. Each waits at its own semaphore, and
 * several other threads let them through in random order, round after round.
 * Each thread adds the value that it finds to a sum. The sum is only right if
 * every thread came through once per round, and no two threads shared memory.
 *
 *     app_parked [THREADS]
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NR_ROUNDS 3
#define NR_WAKERS 4
#define STACK_BYTES (64 << 10)

struct waiter {
	sem_t door;
	uint64_t parcel; /* the value for the waiter */
	uint64_t sum;
};

static struct waiter *waiters;
static long nr_waiters;
static long *order; /* the order in which they are let through */
static sem_t let_through;
static pthread_barrier_t next_round;

static __thread uint64_t own_sum;

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ULL;
	return x ^ (x >> 29);
}

static uint64_t parcel_of(long who, int round)
{
	return mix((uint64_t)who * NR_ROUNDS + (uint64_t)round + 1);
}

static void die(const char *what)
{
	printf("failed: %s\n", what);
	exit(1);
}

static void *wait_in_turn(void *arg)
{
	struct waiter *w = arg;

	for (int i = 0; i < NR_ROUNDS; i++) {
		while (sem_wait(&w->door) != 0)
			;
		own_sum = mix(own_sum ^ w->parcel);
		if (sem_post(&let_through) != 0)
			die("sem_post");
	}
	w->sum = own_sum;
	return w;
}

static void *wake_while_throttled(void *arg)
{
	long first = (long)(intptr_t)arg;

	for (int round = 0; round < NR_ROUNDS; round++) {
		for (long i = first; i < nr_waiters; i += NR_WAKERS) {
			struct waiter *w = &waiters[order[i]];

			w->parcel = parcel_of(order[i], round);
			if (sem_post(&w->door) != 0)
				die("sem_post");
		}
		/* The first of these threads checks that all are through. */
		for (long i = 0; i < nr_waiters && first == 0; i++)
			while (sem_wait(&let_through) != 0)
				;
		pthread_barrier_wait(&next_round);
	}
	return arg;
}

static void shuffle(void)
{
	uint64_t random = 20;

	for (long i = 0; i < nr_waiters; i++)
		order[i] = i;
	for (long i = nr_waiters - 1; i > 0; i--) {
		long k, swapped = order[i];

		random = mix(random + 1);
		k = (long)(random % (uint64_t)(i + 1));
		order[i] = order[k];
		order[k] = swapped;
	}
}

static uint64_t expected_sum(long who)
{
	uint64_t sum = 0;

	for (int round = 0; round < NR_ROUNDS; round++)
		sum = mix(sum ^ parcel_of(who, round));
	return sum;
}

static void start(pthread_t *thread, void *(*f)(void *), void *arg)
{
	pthread_attr_t attr;

	if (pthread_attr_init(&attr) != 0 ||
	    pthread_attr_setstacksize(&attr, STACK_BYTES) != 0 ||
	    pthread_create(thread, &attr, f, arg) != 0)
		die("pthread_create");
	pthread_attr_destroy(&attr);
}

int main(int argc, char **argv)
{
	pthread_t wakers[NR_WAKERS], *threads;
	void *result;

	nr_waiters = argc > 1 ? atol(argv[1]) : 2000;
	waiters = calloc((size_t)nr_waiters, sizeof(*waiters));
	order = calloc((size_t)nr_waiters, sizeof(*order));
	threads = calloc((size_t)nr_waiters, sizeof(*threads));
	if (waiters == NULL || order == NULL || threads == NULL)
		die("calloc");
	shuffle();
	sem_init(&let_through, 0, 0);
	pthread_barrier_init(&next_round, NULL, NR_WAKERS);
	for (long i = 0; i < nr_waiters; i++) {
		sem_init(&waiters[i].door, 0, 0);
		start(&threads[i], wait_in_turn, &waiters[i]);
	}
	for (intptr_t i = 0; i < NR_WAKERS; i++)
		start(&wakers[i], wake_while_throttled, (void *)i);
	for (int i = 0; i < NR_WAKERS; i++)
		pthread_join(wakers[i], NULL);
	for (long i = 0; i < nr_waiters; i++) {
		if (pthread_join(threads[i], &result) != 0 ||
		    result != &waiters[i])
			die("pthread_join");
		if (waiters[i].sum != expected_sum(i))
			die("a sum is wrong");
	}
	free(threads);
	printf("all came through, every sum is right\n");
	return 0;
}
