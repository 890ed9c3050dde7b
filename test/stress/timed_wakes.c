/* SPDX-License-Identifier: MIT */
/*
 * Time-outs race with wakes. Every permit of a semaphore and every ticket of a
 * condition variable is taken exactly once or left over. No thread keeps
 * sleeping while there is a permit or ticket for it.
 */
#include <semaphore.h>

#include "stress.h"

#define NR_TAKERS 24
#define NR_GIVERS 4

static sem_t permits;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t announced;
static long nr_tickets;
static long nr_tickets_taken;
static _Atomic long nr_permits_taken;
static _Atomic long nr_permits_given;
static _Atomic int is_over;
static long nr_rounds;

/* Most waits end by a wake, because the giver sleeps as long as the waiter. */
static struct timespec close_deadline(uint64_t *random)
{
	return ts_after_ns(deadline_ms(CLOCK_MONOTONIC, 0),
			   random_below(random, 120000));
}

static void *take_permits(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	while (!is_over) {
		struct timespec ts = close_deadline(&random);

		if (sem_clockwait(&permits, CLOCK_MONOTONIC, &ts) == 0)
			nr_permits_taken++;
		else
			CHECK(errno == ETIMEDOUT || errno == EINTR);
		stress_disturb(&random);
	}
	return NULL;
}

static void *take_tickets(void *arg)
{
	uint64_t random = random_start(100 + (intptr_t)arg);

	while (!is_over) {
		struct timespec ts = close_deadline(&random);
		int err = 0;

		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		while (nr_tickets == 0 && err == 0)
			err = pthread_cond_timedwait(&announced, &mutex, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
		if (nr_tickets > 0) {
			nr_tickets--;
			nr_tickets_taken++;
		}
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		stress_disturb(&random);
	}
	return NULL;
}

static void *give(void *arg)
{
	uint64_t random = random_start(200 + (intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		struct timespec ts = { 0, random_below(&random, 60000) };
		long nr = random_below(&random, 5);

		if (i % 4 == 0)
			nanosleep(&ts, NULL);
		for (long n = 0; n < nr; n++)
			CHECK_EQ(sem_post(&permits), 0);
		nr_permits_given += nr;
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		nr_tickets++;
		CHECK_EQ(nr > 3 ? pthread_cond_broadcast(&announced) :
				  pthread_cond_signal(&announced),
			 0);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return NULL;
}

/* A taker without a deadline hangs if its wake is lost. */
static void *take_one_ticket(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	while (nr_tickets == 0)
		CHECK_EQ(pthread_cond_wait(&announced, &mutex), 0);
	nr_tickets--;
	nr_tickets_taken++;
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	CHECK_EQ(sem_wait(&permits), 0);
	nr_permits_taken++;
	return arg;
}

static void use_monotonic_clock(void)
{
	pthread_condattr_t attr;

	CHECK_EQ(pthread_condattr_init(&attr), 0);
	CHECK_EQ(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), 0);
	CHECK_EQ(pthread_cond_init(&announced, &attr), 0);
}

int main(int argc, char **argv)
{
	pthread_t permit_takers[NR_TAKERS], ticket_takers[NR_TAKERS];
	pthread_t untimed[NR_TAKERS], givers[NR_GIVERS];
	int left;

	stress_begin(argc, argv);
	nr_rounds = stress_scale(4000);
	use_monotonic_clock();
	CHECK_EQ(sem_init(&permits, 0, NR_TAKERS), 0);
	threads_start(untimed, NR_TAKERS, take_one_ticket, NULL);
	threads_start_numbered(permit_takers, NR_TAKERS, take_permits);
	threads_start_numbered(ticket_takers, NR_TAKERS, take_tickets);
	threads_start_numbered(givers, NR_GIVERS, give);
	threads_join(givers, NR_GIVERS);
	/*
	 * Replaces the tickets that takers with a deadline took from those
	 * without one.
	 */
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_tickets += NR_TAKERS;
	CHECK_EQ(pthread_cond_broadcast(&announced), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	is_over = 1;
	threads_join(permit_takers, NR_TAKERS);
	threads_join(ticket_takers, NR_TAKERS);
	for (int i = 0; i < 2 * NR_TAKERS; i++) {
		CHECK_EQ(sem_post(&permits), 0);
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		nr_tickets++;
		CHECK_EQ(pthread_cond_signal(&announced), 0);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	threads_join(untimed, NR_TAKERS);
	CHECK_EQ(sem_getvalue(&permits, &left), 0);
	CHECK_EQ(nr_permits_taken + left,
		 nr_permits_given + NR_TAKERS + 2 * NR_TAKERS);
	CHECK_EQ(nr_tickets_taken + nr_tickets,
		 NR_GIVERS * nr_rounds + NR_TAKERS + 2 * NR_TAKERS);
	return stress_end();
}
