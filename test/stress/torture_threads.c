/* SPDX-License-Identifier: MIT */
/*
 * Acts that make threads and let them meet, end, and be joined, detached or
 * cancelled.
 */
#include "torture.h"

#include <poll.h>
#include <semaphore.h>

/* --- threads that come and go --------------------------------------------- */

static void *pass_barrier(void *barrier)
{
	int rc = pthread_barrier_wait(barrier);

	CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
	return (void *)(intptr_t)(rc != 0);
}

void meet(uint64_t *random)
{
	long nr = 1 + random_below(random, 5), nr_serial = 0;
	pthread_barrier_t barrier;
	pthread_t threads[5];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, (unsigned int)nr), 0);
	for (long i = 0; i < nr; i++)
		threads[i] = torture_start(random, pass_barrier, &barrier);
	for (long i = 0; i < nr; i++)
		nr_serial += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(nr_serial, 1);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

static _Atomic int nr_detached, nr_detached_done;

static void *end_detached(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	stress_disturb(&random);
	nr_detached_done++;
	if (random_below(&random, 2) == 0)
		pthread_exit(NULL);
	return NULL;
}

void detach(uint64_t *random)
{
	nr_detached++;
	CHECK_EQ(pthread_detach(torture_start(random, end_detached,
					      (void *)random_next(random))),
		 0);
}

static void *sleep_a_little(void *arg)
{
	uint64_t random = (uintptr_t)arg;
	struct timespec ts = { 0, random_below(&random, 200000) };

	nanosleep(&ts, NULL);
	return arg;
}

void join_in_time(uint64_t *random)
{
	void *arg = (void *)random_next(random), *result;
	pthread_t thread = torture_start(random, sleep_a_little, arg);
	struct timespec ts = torture_soon(random, CLOCK_REALTIME);
	int err = pthread_timedjoin_np(thread, &result, &ts);

	CHECK(err == 0 || err == ETIMEDOUT);
	if (err != 0)
		result = thread_join(thread);
	CHECK(result == arg);
}

/* --- cancellation --------------------------------------------------------- */

struct victim {
	uint64_t random;
	pthread_mutex_t mutex;
	pthread_cond_t never;
	sem_t none;
	int ends[2]; /* a pipe without writers */
	_Atomic int nr_cleanups;
};

static void release(void *arg)
{
	struct victim *v = arg;

	CHECK_EQ(pthread_mutex_unlock(&v->mutex), 0);
	v->nr_cleanups++;
}

static void wait_for_ever(struct victim *v)
{
	struct timespec far = deadline_ms(CLOCK_REALTIME, 1000000);
	char byte;

	switch (random_below(&v->random, 7)) {
	case 0:
		for (;;)
			pthread_cond_wait(&v->never, &v->mutex);
	case 1:
		for (;;)
			pthread_cond_timedwait(&v->never, &v->mutex, &far);
	case 2:
		for (;;)
			sem_wait(&v->none);
	case 3:
		for (;;)
			pause();
	case 4:
		for (;;)
			CHECK(read(v->ends[0], &byte, 1) < 0);
	case 5:
		for (;;)
			poll(&(struct pollfd){ v->ends[0], POLLIN, 0 }, 1, -1);
	default:
		for (;;)
			pthread_testcancel();
	}
}

static void *be_victim(void *arg)
{
	struct victim *v = arg;

	CHECK_EQ(pthread_mutex_lock(&v->mutex), 0);
	pthread_cleanup_push(release, v);
	wait_for_ever(v);
	pthread_cleanup_pop(1);
	return NULL;
}

void cancel(uint64_t *random)
{
	struct victim v = { .random = random_next(random),
			    .mutex = PTHREAD_MUTEX_INITIALIZER,
			    .never = PTHREAD_COND_INITIALIZER };
	pthread_t thread;

	CHECK_EQ(sem_init(&v.none, 0, 0), 0);
	CHECK_EQ(pipe2(v.ends, O_CLOEXEC), 0);
	thread = torture_start(random, be_victim, &v);
	stress_disturb(random);
	if (random_below(random, 3) == 0)
		CHECK_EQ(pthread_cond_broadcast(&v.never), 0);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(v.nr_cleanups, 1);
	CHECK_EQ(pthread_mutex_trylock(&v.mutex), 0);
	CHECK_EQ(pthread_cond_destroy(&v.never), 0);
	CHECK_EQ(sem_destroy(&v.none), 0);
	CHECK_EQ(close(v.ends[0]), 0);
	CHECK_EQ(close(v.ends[1]), 0);
}

void torture_threads_check(void)
{
	await_count(&nr_detached_done, nr_detached);
}
