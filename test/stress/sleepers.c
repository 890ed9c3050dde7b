/* SPDX-License-Identifier: MIT */
/*
 * Hundreds of threads that wait for different deadlines by every call that
 * takes a time, beside threads that compute: no thread wakes early, and each
 * one wakes.
 */
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "stress.h"

#define NR_SLEEPERS 200
#define NR_CPU_BOUND 3
#define NR_FORMS 8

static _Atomic int is_over;
static _Atomic long nr_waits;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t all_in;
static sem_t empty;
static long nr_rounds;

static void wait_on_cond(const struct timespec *until)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	CHECK_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, until),
		 ETIMEDOUT);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

/* Waits until `until`, which was computed as now plus `ns`. */
static void wait_somehow(int form, const struct timespec *until, int64_t ns)
{
	struct timespec length = { ns / NS_PER_S, ns % NS_PER_S };
	uint32_t word = 0;

	switch (form) {
	case 0:
		CHECK_EQ(nanosleep(&length, NULL), 0);
		break;
	case 1:
		CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, until,
					 NULL),
			 0);
		break;
	case 2:
		CHECK_EQ(usleep((useconds_t)(ns / 1000 + 1)), 0);
		break;
	case 3:
		wait_on_cond(until);
		break;
	case 4:
		CHECK_ERRNO(sem_clockwait(&empty, CLOCK_MONOTONIC, until),
			    ETIMEDOUT);
		break;
	case 5:
		CHECK_EQ(pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, until),
			 ETIMEDOUT);
		break;
	case 6:
		CHECK_EQ(pthread_rwlock_clockrdlock(&written, CLOCK_MONOTONIC,
						    until),
			 ETIMEDOUT);
		break;
	default:
		CHECK_ERRNO(syscall(SYS_futex, &word,
				    FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0,
				    until, NULL, FUTEX_BITSET_MATCH_ANY),
			    ETIMEDOUT);
	}
}

static void *sleep_on(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	pthread_barrier_wait(&all_in);
	for (long i = 0; i < nr_rounds; i++) {
		int64_t ns = random_below(&random, 5 * NS_PER_MS);
		int64_t start = now_ns();
		struct timespec until = { start / NS_PER_S, start % NS_PER_S };

		until = ts_after_ns(until, ns);
		wait_somehow((int)random_below(&random, NR_FORMS), &until, ns);
		CHECK(now_ns() - start >= ns);
		nr_waits++;
	}
	return NULL;
}

static void *compute(void *arg)
{
	volatile double x = 1;

	while (!is_over)
		x = x * 1.0000001 + 1;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t sleepers[NR_SLEEPERS], computing[NR_CPU_BOUND];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(50);
	CHECK_EQ(sem_init(&empty, 0, 0), 0);
	CHECK_EQ(pthread_mutex_lock(&held), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&written), 0);
	CHECK_EQ(pthread_barrier_init(&all_in, NULL, NR_SLEEPERS), 0);
	threads_start(computing, NR_CPU_BOUND, compute, NULL);
	threads_start_numbered(sleepers, NR_SLEEPERS, sleep_on);
	threads_join(sleepers, NR_SLEEPERS);
	is_over = 1;
	threads_join(computing, NR_CPU_BOUND);
	CHECK_EQ(nr_waits, NR_SLEEPERS * nr_rounds);
	return stress_end();
}
