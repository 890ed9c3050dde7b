/* SPDX-License-Identifier: MIT */
/*
 * A thread gets a permit or a mutex just when its handler jumps out of the
 * wait: the threads behind it waited without end. libc may have the same fault,
 * so the test checks nothing natively.
 */
#include <semaphore.h>
#include <stdio.h>

#include <weft/runtime.h>

#include "check.h"
#include "leaving.h"

static sem_t sem;
static pthread_mutex_t mutex;

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

static _Atomic int nr_waiting, nr_woken;

static void *take(void *arg)
{
	nr_waiting++;
	CHECK_EQ(sem_wait(&sem), 0);
	nr_woken++;
	return NULL;
}

/* Two threads wait; the permit of the leaving one must reach the other. */
static void permit_goes_to_the_next_waiter(void)
{
	int nr_lost = 0;

	for (int i = 0; i < ROUNDS && nr_lost <= MOST_LOST; i++) {
		pthread_t leaver, other;

		CHECK_EQ(sem_init(&sem, 0, 0), 0);
		nr_waiting = nr_woken = 0;
		leaver = leaver_of(take_or_leave);
		other = thread_start(take, NULL);
		let_it_wait(&nr_waiting);
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
		thread_join(leaver);
		if (nr_left != 0)
			nr_lost += is_lost(&nr_woken, 1);
		if (nr_woken == 0)
			CHECK_EQ(sem_post(&sem), 0);
		thread_join(other);
	}
	CHECK(nr_lost <= MOST_LOST);
}

static _Atomic int nr_locked;

static void *lock_or_leave(void *arg)
{
	volatile bool got = false;

	if (sigsetjmp(leaving_env, 1) == 0) {
		begin_to_wait();
		got = pthread_mutex_lock(&mutex) == 0;
	}
	end_to_wait(got);
	if (got)
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

static void *lock_next(void *arg)
{
	nr_waiting++;
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_locked++;
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

/* The threads behind the leaving one must get the mutex. */
static void mutex_goes_to_the_next_waiters(void)
{
	int nr_lost = 0;

	for (int i = 0; i < ROUNDS && nr_lost <= MOST_LOST; i++) {
		pthread_t leaver, others[2];

		CHECK_EQ(pthread_mutex_init(&mutex, NULL), 0);
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		nr_waiting = nr_locked = 0;
		leaver = leaver_of(lock_or_leave);
		threads_start(others, 2, lock_next, NULL);
		while (nr_waiting < 2)
			sleep_ms(1);
		let_it_wait(&nr_waiting);
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
		thread_join(leaver);
		if (is_lost(&nr_locked, 2)) {
			nr_lost++;
			pthread_mutex_trylock(&mutex);
			CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		}
		threads_join(others, 2);
	}
	CHECK(nr_lost <= MOST_LOST);
}

/* --- reader-writer locks: a writer that leaves keeps no readers out ------- */

static pthread_rwlock_t rwlock;

static void *write_or_leave(void *arg)
{
	volatile bool got = false;

	if (sigsetjmp(leaving_env, 1) == 0) {
		begin_to_wait();
		got = pthread_rwlock_wrlock(&rwlock) == 0;
	}
	end_to_wait(got);
	return NULL;
}

static void *read_next(void *arg)
{
	nr_waiting++;
	CHECK_EQ(pthread_rwlock_rdlock(&rwlock), 0);
	nr_locked++;
	CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
	return NULL;
}

static void readers_are_let_in(void)
{
	pthread_rwlockattr_t attr;
	pthread_t leaver, reader;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(
			 &attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP),
		 0);
	CHECK_EQ(pthread_rwlock_init(&rwlock, &attr), 0);
	CHECK_EQ(pthread_rwlock_rdlock(&rwlock), 0);
	nr_waiting = nr_locked = 0;
	leaver = leaver_of(write_or_leave);
	reader = thread_start(read_next, NULL);
	let_it_wait(&nr_waiting);
	CHECK_EQ(nr_locked, 0);
	CHECK_EQ(pthread_kill(leaver, SIGUSR1), 0);
	thread_join(leaver);
	CHECK(!is_lost(&nr_locked, 1));
	thread_join(reader);
	CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
	CHECK_EQ(pthread_rwlock_trywrlock(&rwlock), 0);
}

int main(void)
{
	have_threads();
	if (weft_is_active()) {
		permit_goes_to_the_next_waiter();
		mutex_goes_to_the_next_waiters();
		readers_are_let_in();
	}
	printf("nothing is lost\n");
	return 0;
}
