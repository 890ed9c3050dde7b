/* SPDX-License-Identifier: MIT */
/* Thread-specific data: keys, values, destructors. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static pthread_key_t key;
static pthread_key_t keys[PTHREAD_KEYS_MAX];
static _Atomic int nr_destroyed;
static _Atomic long sum_destroyed;

static void count(void *value)
{
	nr_destroyed++;
	sum_destroyed += (intptr_t)value;
}

static void *set_and_look(void *arg)
{
	CHECK(pthread_getspecific(key) == NULL);
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	for (int i = 0; i < 5; i++) {
		sched_yield();
		CHECK(pthread_getspecific(key) == arg);
	}
	return NULL;
}

TEST(values_are_per_thread)
{
	pthread_t threads[100];

	CHECK_EQ(pthread_key_create(&key, count), 0);
	CHECK_EQ(pthread_setspecific(key, &key), 0);
	threads_start_numbered(threads, 100, set_and_look);
	threads_join(threads, 100);
	CHECK(pthread_getspecific(key) == &key);
	/* Thread 0's value is NULL, for which no destructor runs. */
	CHECK_EQ(nr_destroyed, 99);
	CHECK_EQ(sum_destroyed, 99 * 100 / 2);
	CHECK_EQ(pthread_key_delete(key), 0);
}

/* A new thread must not find values of an ended thread. */
TEST(new_threads_start_empty)
{
	CHECK_EQ(pthread_key_create(&key, NULL), 0);
	for (int i = 0; i < 300; i++)
		thread_join(thread_start(set_and_look, &key));
}

static int nr_left;

static void set_again(void *value)
{
	nr_destroyed++;
	if (--nr_left > 0)
		CHECK_EQ(pthread_setspecific(key, value), 0);
}

static void *set_given(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	return NULL;
}

TEST(destructor_iterations)
{
	CHECK_EQ(pthread_key_create(&key, set_again), 0);
	nr_left = 3;
	thread_join(thread_start(set_given, &key));
	CHECK_EQ(nr_destroyed, 3);
	nr_left = 1000;
	nr_destroyed = 0;
	thread_join(thread_start(set_given, &key));
	CHECK_EQ(nr_destroyed, PTHREAD_DESTRUCTOR_ITERATIONS);
}

static void free_it(void *value)
{
	CHECK(pthread_getspecific(key) == NULL);
	free(value);
	nr_destroyed++;
}

static void *leave_by_exit(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, malloc(100)), 0);
	pthread_exit(arg);
}

TEST(destructors_run_at_pthread_exit)
{
	pthread_t threads[50];

	CHECK_EQ(pthread_key_create(&key, free_it), 0);
	threads_start(threads, 50, leave_by_exit, NULL);
	threads_join(threads, 50);
	CHECK_EQ(nr_destroyed, 50);
}

/* A destructor may block and use synchronisation objects. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void block_a_while(void *value)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	sleep_ms(1);
	sched_yield();
	count(value);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

TEST(destructor_may_block)
{
	pthread_t threads[20];

	CHECK_EQ(pthread_key_create(&key, block_a_while), 0);
	threads_start(threads, 20, set_given, &key);
	threads_join(threads, 20);
	CHECK_EQ(nr_destroyed, 20);
}

/*
 * If a destructor ends the thread or is cancelled, that is the thread's result.
 */
static void end_thread(void *value)
{
	count(value);
	pthread_exit(&mutex);
}

TEST(destructor_may_end_the_thread)
{
	CHECK_EQ(pthread_key_create(&key, end_thread), 0);
	CHECK(thread_join(thread_start(set_given, &key)) == &mutex);
	CHECK(thread_join(thread_start(leave_by_exit, NULL)) == &mutex);
	CHECK_EQ(nr_destroyed, 2);
}

static void pause_for_ever(void *value)
{
	count(value);
	for (;;)
		pause();
}

TEST(destructor_may_be_cancelled)
{
	for (int i = 1; i <= 20; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_key_create(&key, pause_for_ever), 0);
		thread = thread_start(set_given, &key);
		while (nr_destroyed < i)
			sched_yield();
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
}

static void *set_all(void *arg)
{
	int nr = (int)(intptr_t)arg;

	for (int i = 0; i < nr; i++)
		CHECK_EQ(pthread_setspecific(keys[i],
					     (void *)(intptr_t)(i + 1)),
			 0);
	sched_yield();
	for (int i = 0; i < nr; i++)
		CHECK_EQ((intptr_t)pthread_getspecific(keys[i]), i + 1);
	return NULL;
}

TEST(hundred_keys)
{
	pthread_t threads[10];

	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_key_create(&keys[i], count), 0);
	threads_start(threads, 10, set_all, (void *)(intptr_t)100);
	threads_join(threads, 10);
	CHECK_EQ(nr_destroyed, 1000);
	CHECK_EQ(sum_destroyed, 10 * 100 * 101 / 2);
}

TEST(keys_run_out)
{
	int nr = 0;

	while (nr < PTHREAD_KEYS_MAX &&
	       pthread_key_create(&keys[nr], NULL) == 0)
		nr++;
	/* libc and the test's harness may use a few keys. */
	CHECK(nr >= PTHREAD_KEYS_MAX - 16);
	if (nr < PTHREAD_KEYS_MAX)
		CHECK_EQ(pthread_key_create(&keys[nr], NULL), EAGAIN);
	thread_join(thread_start(set_all, (void *)(intptr_t)nr));
	for (int i = 0; i < nr; i++)
		CHECK_EQ(pthread_key_delete(keys[i]), 0);
	CHECK_EQ(pthread_key_create(&key, NULL), 0);
}

TEST(delete_forgets)
{
	pthread_key_t again;

	CHECK_EQ(pthread_key_create(&key, count), 0);
	CHECK_EQ(pthread_setspecific(key, &key), 0);
	CHECK_EQ(pthread_key_delete(key), 0);
	CHECK_EQ(pthread_key_delete(key), EINVAL);
	CHECK_EQ(pthread_setspecific(key, &key), EINVAL);
	CHECK(pthread_getspecific(key) == NULL);
	CHECK_EQ(pthread_key_create(&again, count), 0);
	CHECK(pthread_getspecific(again) == NULL);
	CHECK_EQ(nr_destroyed, 0);
}

static pthread_barrier_t barrier;

static void *set_and_meet(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* No destructor runs for a key that was deleted while threads had values. */
TEST(delete_beside_threads)
{
	pthread_t threads[30];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 31), 0);
	CHECK_EQ(pthread_key_create(&key, count), 0);
	threads_start(threads, 30, set_and_meet, &key);
	pthread_barrier_wait(&barrier);
	CHECK_EQ(pthread_key_delete(key), 0);
	pthread_barrier_wait(&barrier);
	threads_join(threads, 30);
	CHECK_EQ(nr_destroyed, 0);
}
