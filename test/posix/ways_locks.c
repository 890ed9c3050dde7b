/* SPDX-License-Identifier: MIT */
/*
 * Each way out of a wait for a lock: the leaving thread must not hold the lock,
 * and other threads get it. Some threads leave just when they have been woken
 * for the lock, or have been handed it.
 */
#include <semaphore.h>

#include "check.h"
#include "leaving.h"
#include "ways_out.h"

static pthread_mutex_t mutex;

static void make_mutex(int type, int protocol)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	CHECK_EQ(pthread_mutex_init(&mutex, &attr), 0);
}

static void prepare_mutex(void)
{
	make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
}

static void prepare_recursive(void)
{
	make_mutex(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
}

static void prepare_inheriting(void)
{
	make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
}

static void lock_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void lock_mutex_until(void)
{
	struct timespec until = deadline_ms(CLOCK_MONOTONIC, 1000000);

	pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until);
}

static void *lock_and_unlock(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

static void check_mutex(void)
{
	pthread_t others[3];

	threads_start(others, 3, lock_and_unlock, NULL);
	sched_yield();
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(others, 3);
	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void leave_mutex(void (*prepare)(void), void (*wait)(void))
{
	leave_by_all_ways(&(struct way_wait){
		.prepare = prepare,
		.wait = wait,
		.check = check_mutex,
		.is_no_cancel_point = true,
		.is_no_childs_wait = prepare == prepare_inheriting });
}

TEST(mutex_goes_to_others)
{
	leave_mutex(prepare_mutex, lock_mutex);
	leave_mutex(prepare_mutex, lock_mutex_until);
	leave_mutex(prepare_recursive, lock_mutex);
}

TEST(mutex_that_is_left_by_setcontext)
{
	static void (*const kinds[])(void) = { prepare_mutex, prepare_recursive,
					       prepare_inheriting };

	for (int i = 0; i < 3; i++)
		leave_by(BY_SETCONTEXT,
			 &(struct way_wait){ .prepare = kinds[i],
					     .wait = lock_mutex,
					     .check = check_mutex });
}

TEST(mutex_that_inherits_goes_to_others)
{
	leave_mutex(prepare_inheriting, lock_mutex);
	leave_mutex(prepare_inheriting, lock_mutex_until);
}

/* --- the lock comes as the thread leaves ---------------------------------- */

static sem_t sem;

static void *take_or_leave(void *arg)
{
	volatile bool got = false;

	if (sigsetjmp(leaving_env, 1) == 0) {
		begin_to_wait();
		got = sem_wait(&sem) == 0;
	}
	end_to_wait(got);
	return NULL;
}

/* The permit must be in the semaphore, or the thread must have taken it. */
static void post_and_signal(int is_shared)
{
	int nr_lost = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_t leaver;
		int value = -1;

		CHECK_EQ(sem_init(&sem, is_shared, 0), 0);
		leaver = leaver_of(take_or_leave);
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
		thread_join(leaver);
		CHECK_EQ(sem_getvalue(&sem, &value), 0);
		CHECK(value + nr_got <= 1);
		nr_lost += value + nr_got == 0;
	}
	CHECK(nr_lost <= MOST_LOST);
}

TEST(permit_that_comes_as_the_thread_leaves)
{
	post_and_signal(0);
}

TEST(shared_permit_that_comes_as_the_thread_leaves)
{
	post_and_signal(1);
}

/* --- signals of conditions ------------------------------------------------ */

static pthread_cond_t cond;
static _Atomic int nr_waiting, nr_woken;

static void *wait_or_leave(void *arg)
{
	volatile bool got = false;

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	if (sigsetjmp(leaving_env, 1) == 0) {
		begin_to_wait();
		got = pthread_cond_wait(&cond, &mutex) == 0;
	}
	end_to_wait(got);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

static void *wait_once(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_waiting++;
	CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
	nr_woken++;
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

/*
 * Two threads wait; the signalled one leaves by a jump. The other one gets the
 * signal, unless the first one had returned from its wait before.
 */
TEST(signal_that_comes_as_the_thread_leaves)
{
	int nr_lost = 0;

	for (int i = 0; i < ROUNDS && nr_lost <= MOST_LOST; i++) {
		pthread_t leaver, other;

		make_mutex(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
		CHECK_EQ(pthread_cond_init(&cond, NULL), 0);
		nr_waiting = nr_woken = 0;
		leaver = leaver_of(wait_or_leave);
		other = thread_start(wait_once, NULL);
		let_it_wait(&nr_waiting);
		CHECK_EQ(pthread_cond_signal(&cond), 0);
		CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
		thread_join(leaver);
		if (nr_left != 0)
			nr_lost += is_lost(&nr_woken, 1);
		if (nr_woken == 0)
			CHECK_EQ(pthread_cond_signal(&cond), 0);
		thread_join(other);
		CHECK_EQ(pthread_cond_destroy(&cond), 0);
	}
	CHECK(nr_lost <= MOST_LOST);
}
