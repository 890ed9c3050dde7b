/* SPDX-License-Identifier: MIT */
/* Barriers, spin locks and pthread_once. */
#include <limits.h>
#include <stdlib.h>

#include "check.h"
#include "threading.h"

static pthread_barrier_t barrier;
static _Atomic int nr_serial;
static _Atomic int nr_arrived;

#define PARTY 40
#define ROUNDS 200

static void *meet(void *arg)
{
	for (int round = 1; round <= ROUNDS; round++) {
		int result;

		nr_arrived++;
		result = pthread_barrier_wait(&barrier);
		CHECK(nr_arrived >= round * PARTY);
		if (result == PTHREAD_BARRIER_SERIAL_THREAD)
			nr_serial++;
		else
			CHECK_EQ(result, 0);
		result = pthread_barrier_wait(&barrier);
		CHECK_EQ(nr_serial, round);
		CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

TEST(barrier_rounds)
{
	pthread_t threads[PARTY];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, PARTY), 0);
	threads_start(threads, PARTY, meet, NULL);
	threads_join(threads, PARTY);
	CHECK_EQ(nr_arrived, PARTY * ROUNDS);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(barrier_of_none_is_invalid)
{
	pthread_barrierattr_t attr;
	int shared = -1;

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, INT_MAX), EINVAL);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, INT_MAX - 1), 0);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
	CHECK_EQ(pthread_barrierattr_init(&attr), 0);
	CHECK_EQ(pthread_barrierattr_getpshared(&attr, &shared), 0);
	CHECK_EQ(shared, PTHREAD_PROCESS_PRIVATE);
	CHECK_EQ(pthread_barrierattr_setpshared(&attr, 99), EINVAL);
	CHECK_EQ(pthread_barrierattr_destroy(&attr), 0);
}

TEST(barrier_of_one)
{
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 1), 0);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_barrier_wait(&barrier),
			 PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

TEST(barrier_destroyed_twice)
{
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 1), 0);
	CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

static void *meet_once(void *arg)
{
	pthread_barrier_wait(arg);
	return NULL;
}

/* A thread that has passed the barrier may destroy it and free its memory. */
TEST(barrier_destroy_at_once)
{
	for (int i = 0; i < 300; i++) {
		pthread_barrier_t *own = malloc(sizeof(*own));
		pthread_t threads[3];

		CHECK_EQ(pthread_barrier_init(own, NULL, 4), 0);
		threads_start(threads, 3, meet_once, own);
		pthread_barrier_wait(own);
		CHECK_EQ(pthread_barrier_destroy(own), 0);
		free(own);
		threads_join(threads, 3);
	}
}

static pthread_spinlock_t spin;
static long counter;

static void *count_spinning(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		long seen;

		CHECK_EQ(pthread_spin_lock(&spin), 0);
		seen = counter;
		if (i % 500 == 0)
			sched_yield();
		counter = seen + 1;
		CHECK_EQ(pthread_spin_unlock(&spin), 0);
	}
	return arg;
}

TEST(spin_counting)
{
	pthread_t threads[16];

	CHECK_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
	threads_start(threads, 16, count_spinning, NULL);
	threads_join(threads, 16);
	CHECK_EQ(counter, 16 * 2000);
	CHECK_EQ(pthread_spin_destroy(&spin), 0);
}

static void *try_spin(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)pthread_spin_trylock(&spin);
}

TEST(spin_try)
{
	CHECK_EQ(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
	CHECK_EQ(pthread_spin_trylock(&spin), 0);
	CHECK_EQ((intptr_t)thread_join(thread_start(try_spin, NULL)), EBUSY);
	CHECK_EQ(pthread_spin_unlock(&spin), 0);
	CHECK_EQ((intptr_t)thread_join(thread_start(try_spin, NULL)), 0);
	CHECK_EQ(pthread_spin_unlock(&spin), 0);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t inner = PTHREAD_ONCE_INIT;
static _Atomic int nr_callers, nr_calls;
static int product;

enum { NR_CALLERS = 1000 };

/* Runs until all other threads wait for the end of this initialiser. */
static void slow_init(void)
{
	nr_calls++;
	await_count(&nr_callers, NR_CALLERS);
	await_rest();
	product = 42;
}

static void *call_once_and_look(void *arg)
{
	nr_callers++;
	CHECK_EQ(pthread_once(&once, slow_init), 0);
	CHECK_EQ(product, 42);
	return arg;
}

TEST(once_by_thousand)
{
	static pthread_t threads[NR_CALLERS];

	threads_start(threads, NR_CALLERS, call_once_and_look, NULL);
	threads_join(threads, NR_CALLERS);
	CHECK_EQ(nr_calls, 1);
}

static void inner_init(void)
{
	nr_calls++;
	sched_yield();
}

static void outer_init(void)
{
	CHECK_EQ(pthread_once(&inner, inner_init), 0);
	CHECK_EQ(nr_calls, 1);
	nr_calls++;
}

static void *call_outer(void *arg)
{
	CHECK_EQ(pthread_once((intptr_t)arg % 2 ? &inner : &once,
			      (intptr_t)arg % 2 ? inner_init : outer_init),
		 0);
	CHECK(nr_calls > 0);
	return NULL;
}

TEST(once_nested)
{
	pthread_t threads[50];

	threads_start_numbered(threads, 50, call_outer);
	threads_join(threads, 50);
	CHECK_EQ(nr_calls, 2);
}

/* An initialiser may use threads, and these may use another pthread_once. */
static void *call_inner(void *arg)
{
	CHECK_EQ(pthread_once(&inner, inner_init), 0);
	return arg;
}

static void threaded_init(void)
{
	thread_join(thread_start(call_inner, NULL));
	nr_calls++;
}

static void *call_threaded(void *arg)
{
	CHECK_EQ(pthread_once(&once, threaded_init), 0);
	CHECK_EQ(nr_calls, 2);
	return arg;
}

TEST(once_that_makes_threads)
{
	pthread_t threads[50];

	threads_start(threads, 50, call_threaded, NULL);
	threads_join(threads, 50);
}
