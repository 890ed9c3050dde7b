/* SPDX-License-Identifier: MIT */
/*
 * Cancellation of threads that wait, block in the kernel, compute, or have
 * disabled it; cleanup handlers and the result that a join returns.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static _Atomic int is_ready, nr_cleaned, nr_computed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int ends[2];

static void clean(void *arg)
{
	nr_cleaned++;
	if (arg != NULL)
		CHECK_EQ(pthread_mutex_unlock(arg), 0);
}

enum { COMPUTES = 5, ENOUGH = 100000 };

static void *in_cond(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	pthread_cleanup_push(clean, &mutex);
	is_ready = 1;
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return arg;
}

static void wait_in(void *how)
{
	sigset_t set;
	char c;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	is_ready = 1;
	switch ((intptr_t)how) {
	case 0:
		sem_wait(&sem);
		break;
	case 1:
		sleep(100);
		break;
	case 2:
		CHECK(read(ends[0], &c, 1) != 1);
		break;
	case 3:
		sigwait(&set, &sig);
		break;
	case 4:
		pause();
		break;
	default:
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &sig);
		for (;;)
			nr_computed++;
	}
}

static void *in_wait(void *how)
{
	pthread_cleanup_push(clean, NULL);
	for (;;)
		wait_in(how);
	pthread_cleanup_pop(0);
	return NULL;
}

static pthread_t sleeper;

static void *in_join(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	is_ready = 1;
	pthread_join(sleeper, NULL);
	pthread_cleanup_pop(0);
	return arg;
}

/*
 * Cancels a thread at once, after it has begun, and after a wait or some work.
 */
static void cancel_each_way(void *(*start)(void *), void *arg)
{
	for (int way = 0; way < 3; way++) {
		int before = nr_cleaned;
		pthread_t t;

		is_ready = nr_computed = 0;
		t = thread_start(start, arg);
		while (way > 0 && !is_ready)
			sched_yield();
		if (way > 1 && arg == (void *)COMPUTES)
			await_count(&nr_computed, ENOUGH);
		else if (way > 1)
			await_rest();
		CHECK_EQ(pthread_cancel(t), 0);
		CHECK(thread_join(t) == PTHREAD_CANCELED);
		if (way > 0)
			CHECK_EQ(nr_cleaned, before + 1);
	}
}

TEST(in_every_wait)
{
	int left;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(pipe(ends), 0);
	for (intptr_t how = 0; how <= COMPUTES; how++)
		cancel_each_way(in_wait, (void *)how);
	CHECK_EQ(sem_getvalue(&sem, &left), 0);
	CHECK_EQ(left, 0);
}

TEST(in_a_condition)
{
	cancel_each_way(in_cond, NULL);
	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
}

TEST(in_join_which_leaves_the_thread)
{
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	sleeper = thread_start(in_wait, (void *)0);
	cancel_each_way(in_join, NULL);
	CHECK_EQ(pthread_cancel(sleeper), 0);
	CHECK(thread_join(sleeper) == PTHREAD_CANCELED);
}

static _Atomic int nr_slept;

static void *disabled(void *arg)
{
	int old;

	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	sleep_ms(5);
	nr_slept++;
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old), 0);
	pthread_testcancel();
	return arg;
}

TEST(when_disabled_it_waits)
{
	CHECK(thread_join(thread_start(disabled, NULL)) == PTHREAD_CANCELED);
	CHECK_EQ(nr_slept, 1);
}

static _Atomic int is_cancelled;

static void *wait_later(void *arg)
{
	struct timespec soon;

	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	is_ready = 1;
	await_count(&is_cancelled, 1);
	soon = deadline_ms(CLOCK_REALTIME, 5);
	CHECK_ERRNO(sem_timedwait(&sem, &soon), ETIMEDOUT);
	is_ready = 2;
	CHECK_EQ(sem_wait(&sem), 0);
	usleep(1);
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
	pthread_testcancel();
	return arg;
}

/* While cancellation is disabled, a pending request must not end a new wait. */
TEST(waits_while_it_is_disabled)
{
	pthread_t thread;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	thread = thread_start(wait_later, NULL);
	await_count(&is_ready, 1);
	CHECK_EQ(pthread_cancel(thread), 0);
	is_cancelled = 1;
	await_count(&is_ready, 2);
	await_rest();
	CHECK_EQ(sem_post(&sem), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
}
