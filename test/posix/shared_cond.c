/* SPDX-License-Identifier: MIT */
/*
 * Single waits on process-shared conditions: deadlines, interruptions, crowds,
 * cancellation, and waiters and owners in a process that dies.
 */
#include <errno.h>

#include "shared.h"

enum { NR_CROWD = 200 };

static _Atomic int nr_here, nr_done;

static void make_condition(int type, int robust)
{
	make_shared();
	make_mutex(&s->mutex, type, robust, PTHREAD_PROCESS_SHARED,
		   PTHREAD_PRIO_NONE);
	make_cond(&s->cond, CLOCK_REALTIME);
}

static void *wait_timed(void *arg)
{
	struct timespec bad = { .tv_nsec = NS_PER_S }, soon;

	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	for (int i = 0; i < 2; i++) {
		clockid_t clock = i ? CLOCK_MONOTONIC : CLOCK_REALTIME;

		make_cond(&s->cond, clock);
		soon = deadline_ms(clock, 5);
		CHECK_EQ(pthread_cond_timedwait(&s->cond, &s->mutex, &soon),
			 ETIMEDOUT);
		CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
		soon = deadline_ms(CLOCK_MONOTONIC, 5);
		CHECK_EQ(pthread_cond_clockwait(&s->cond, &s->mutex,
						CLOCK_MONOTONIC, &soon),
			 ETIMEDOUT);
		soon = deadline_ms(CLOCK_REALTIME, -1000);
		CHECK_EQ(pthread_cond_clockwait(&s->cond, &s->mutex,
						CLOCK_REALTIME, &soon),
			 ETIMEDOUT);
		CHECK_EQ(pthread_cond_timedwait(&s->cond, &s->mutex, &bad),
			 EINVAL);
		CHECK_EQ(pthread_cond_destroy(&s->cond), 0);
	}
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

TEST(condition_timed)
{
	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	wait_timed(NULL);
	thread_join(thread_start(wait_timed, NULL));
}

static void *wait_unlocked(void *arg)
{
	CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), EPERM);
	CHECK_EQ(pthread_cond_signal(&s->cond), 0);
	CHECK_EQ(pthread_cond_destroy(&s->cond), 0);
	return NULL;
}

TEST(condition_not_owned)
{
	make_condition(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	thread_join(thread_start(wait_unlocked, NULL));
	make_condition(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
	thread_join(thread_start(wait_unlocked, NULL));
}

static void *wait_for_count(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(arg), 0);
	nr_here++;
	while (s->count == 0)
		CHECK_EQ(pthread_cond_wait(&s->cond, arg), 0);
	s->count--;
	nr_done++;
	CHECK_EQ(pthread_mutex_unlock(arg), 0);
	return NULL;
}

static void post_count(pthread_mutex_t *mutex, int n)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	s->count += n;
	CHECK_EQ(n == 1 ? pthread_cond_signal(&s->cond) :
			  pthread_cond_broadcast(&s->cond),
		 0);
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

/* One signal wakes one waiter, and a broadcast wakes all. */
TEST(condition_many_wait)
{
	pthread_t threads[NR_CROWD];

	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	for (int round = 0; round < 4; round++) {
		nr_here = nr_done = 0;
		threads_start(threads, NR_CROWD, wait_for_count, &s->mutex);
		await_count(&nr_here, NR_CROWD);
		for (int i = 1; i <= NR_CROWD / 2; i++) {
			post_count(&s->mutex, 1);
			await_count(&nr_done, i);
		}
		post_count(&s->mutex, NR_CROWD / 2);
		threads_join(threads, NR_CROWD);
	}
	CHECK_EQ(pthread_cond_destroy(&s->cond), 0);
}

/* If only one process waits, the mutex need not be shared. */
TEST(condition_with_private_mutex)
{
	static pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pthread_t threads[NR_THREADS];

	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	threads_start(threads, NR_THREADS, wait_for_count, &own);
	await_count(&nr_here, NR_THREADS);
	for (int i = 0; i < NR_THREADS; i++)
		post_count(&own, 1);
	threads_join(threads, NR_THREADS);
}

static void unlock(void *mutex)
{
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

static void *take_one(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	nr_here++;
	pthread_cleanup_push(unlock, &s->mutex);
	while (s->count == 0)
		CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
	s->count--;
	pthread_cleanup_pop(true);
	return NULL;
}

/* A cancelled waiter must pass its signal on to another waiter. */
TEST(condition_cancelled_beside_signal)
{
	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	for (int round = 0; round < NR_ROUNDS; round++) {
		pthread_t first, second;

		nr_here = 0;
		first = thread_start(take_one, NULL);
		await_count(&nr_here, 1);
		second = thread_start(take_one, NULL);
		await_count(&nr_here, 2);
		if (round % 2 == 0)
			CHECK_EQ(pthread_cancel(first), 0);
		post_count(&s->mutex, 1);
		if (round % 2 == 1)
			CHECK_EQ(pthread_cancel(first), 0);
		if (thread_join(first) != PTHREAD_CANCELED)
			post_count(&s->mutex, 1);
		thread_join(second);
		CHECK_EQ(s->count, 0);
	}
	CHECK_EQ(pthread_cond_destroy(&s->cond), 0);
}

static void count_handler(int sig)
{
	nr_done++;
}

static void *wait_interrupted(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	nr_here = 1;
	while (s->count == 0)
		CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	pthread_barrier_wait(&s->barrier);
	return NULL;
}

/* Handlers run during all of these waits and end none of them. */
TEST(interrupted)
{
	struct sigaction act = { .sa_handler = count_handler };
	pthread_t thread;

	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	make_rwlock(&s->rwlock, PTHREAD_RWLOCK_PREFER_READER_NP);
	make_barrier(&s->barrier, 2);
	sigaction(SIGUSR1, &act, NULL);
	CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
	thread = thread_start(wait_interrupted, NULL);
	await_count(&nr_here, 1);
	for (int i = 0; i < 6; i++) {
		await_rest();
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&nr_done, i + 1);
		if (i == 1)
			post_count(&s->mutex, 1);
		if (i == 3)
			CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	}
	pthread_barrier_wait(&s->barrier);
	thread_join(thread);
}

/* --- processes that die --------------------------------------------------- */

static void *wait_for_condition(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	s->other++;
	CHECK_EQ(sem_post(&s->answer), 0);
	while (s->count == 0)
		CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

/* A broadcast reaches the remaining waiters when one was killed. */
TEST(condition_waiter_is_killed)
{
	for (int robust = 0; robust < 2; robust++) {
		pthread_t thread;
		pid_t pid;

		make_condition(PTHREAD_MUTEX_NORMAL, robust);
		pid = start_child(wait_for_condition);
		thread = thread_start(wait_for_condition, NULL);
		CHECK_EQ(sem_wait(&s->answer), 0);
		CHECK_EQ(sem_wait(&s->answer), 0);
		await_rest();
		await_rest_of(pid);
		kill_child(pid);
		post_count(&s->mutex, 2);
		thread_join(thread);
	}
}

static void *inherit_in_condition(void *arg)
{
	int rc;

	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(sem_post(&s->sem), 0);
	do {
		rc = pthread_cond_wait(&s->cond, &s->mutex);
	} while (rc == 0 && s->count == 0);
	CHECK_EQ(rc, EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

static void *signal_and_stay(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	s->count = 1;
	CHECK_EQ(pthread_cond_signal(&s->cond), 0);
	CHECK_EQ(sem_post(&s->answer), 0);
	for (;;)
		pause();
}

/* A woken waiter gets EOWNERDEAD if the mutex's owner has died. */
TEST(condition_owner_is_killed)
{
	pthread_t thread;
	pid_t pid;

	make_condition(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	thread = thread_start(inherit_in_condition, NULL);
	CHECK_EQ(sem_wait(&s->sem), 0);
	pid = start_child(signal_and_stay);
	CHECK_EQ(sem_wait(&s->answer), 0);
	await_rest(); /* the waiter waits for the mutex now */
	kill_child(pid);
	thread_join(thread);
}
