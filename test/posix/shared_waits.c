/* SPDX-License-Identifier: MIT */
/*
 * Single waits on process-shared reader-writer locks, barriers and semaphores:
 * deadlines, crowds, and waiters in a process that dies.
 */
#include <errno.h>

#include "shared.h"

enum { NR_CROWD = 200 };

static const int kinds[] = { PTHREAD_RWLOCK_PREFER_READER_NP,
			     PTHREAD_RWLOCK_PREFER_WRITER_NP,
			     PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };

static _Atomic int nr_here, nr_done;

/* --- reader-writer locks -------------------------------------------------- */

static void check_timed(int expected_read, int expected_write)
{
	struct timespec bad = { .tv_nsec = -1 };
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 5);
	struct timespec soon2 = deadline_ms(CLOCK_MONOTONIC, 10);

	CHECK_EQ(pthread_rwlock_timedrdlock(&s->rwlock, &soon), expected_read);
	CHECK_EQ(pthread_rwlock_timedwrlock(&s->rwlock, &soon), expected_write);
	CHECK_EQ(pthread_rwlock_clockrdlock(&s->rwlock, CLOCK_MONOTONIC,
					    &soon2),
		 expected_read);
	CHECK_EQ(pthread_rwlock_clockwrlock(&s->rwlock, CLOCK_MONOTONIC,
					    &soon2),
		 expected_write);
	CHECK_EQ(pthread_rwlock_clockrdlock(&s->rwlock, CLOCK_TAI, &soon),
		 EINVAL);
	CHECK_EQ(pthread_rwlock_timedwrlock(&s->rwlock, &bad), EINVAL);
}

static void *hold_write(void *arg)
{
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	check_timed(EDEADLK, EDEADLK);
	CHECK_EQ(sem_post(&s->answer), 0);
	CHECK_EQ(sem_wait(&s->sem), 0);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	CHECK_EQ(sem_post(&s->answer), 0);
	return NULL;
}

/* Another process's first thread is not this process's first thread. */
static void *meet_writer(void *arg)
{
	CHECK_EQ(pthread_rwlock_tryrdlock(&s->rwlock), EBUSY);
	CHECK_EQ(pthread_rwlock_trywrlock(&s->rwlock), EBUSY);
	check_timed(ETIMEDOUT, ETIMEDOUT);
	CHECK_EQ(sem_post(&s->sem), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), EDEADLK);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	CHECK_EQ(sem_wait(&s->answer), 0);
	CHECK_EQ(pthread_rwlock_trywrlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), EDEADLK);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	return NULL;
}

TEST(rwlock_timed)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid;

		make_shared();
		make_rwlock(&s->rwlock, kinds[i]);
		pid = start_child(hold_write);
		CHECK_EQ(sem_wait(&s->answer), 0);
		thread_join(thread_start(meet_writer, NULL));
		kill_child(pid);
	}
}

static void *write_timed(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 50);

	nr_here++;
	CHECK_EQ(pthread_rwlock_timedwrlock(&s->rwlock, &soon), ETIMEDOUT);
	return NULL;
}

static void *read_once(void *arg)
{
	CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	return NULL;
}

/* Writers time out behind a reader; the readers behind them get the lock. */
TEST(rwlock_writers_give_up)
{
	for (int i = 0; i < 3; i++) {
		pthread_t writers[3], readers[3];

		make_shared();
		make_rwlock(&s->rwlock, kinds[i]);
		nr_here = 0;
		CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
		threads_start(writers, 3, write_timed, NULL);
		await_count(&nr_here, 3);
		threads_start(readers, 3, read_once, NULL);
		threads_join(writers, 3);
		threads_join(readers, 3);
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
		CHECK_EQ(pthread_rwlock_trywrlock(&s->rwlock), 0);
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	}
}

static void *write_once(void *arg)
{
	nr_here++;
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	s->count++;
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	return NULL;
}

/* A reader comes while another reader holds the lock and a writer waits. */
static bool reader_passes_writer(int kind)
{
	struct timespec soon;
	pthread_t writer;
	int rc;

	make_shared();
	make_rwlock(&s->rwlock, kind);
	nr_here = 0;
	CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
	writer = thread_start(write_once, NULL);
	let_it_wait(&nr_here);
	soon = deadline_ms(CLOCK_MONOTONIC, 5);
	rc = pthread_rwlock_clockrdlock(&s->rwlock, CLOCK_MONOTONIC, &soon);
	CHECK(rc == 0 || rc == ETIMEDOUT);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	if (rc == 0)
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	thread_join(writer);
	CHECK_EQ(s->count, 1);
	return rc == 0;
}

TEST(rwlock_preference)
{
	CHECK(reader_passes_writer(PTHREAD_RWLOCK_PREFER_READER_NP));
	CHECK(!reader_passes_writer(
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
}

TEST(rwlock_many_wait)
{
	pthread_t readers[NR_CROWD / 2], writers[NR_CROWD / 2];

	for (int i = 0; i < 3; i++) {
		make_shared();
		make_rwlock(&s->rwlock, kinds[i]);
		nr_here = 0;
		CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
		threads_start(writers, NR_CROWD / 2, write_once, NULL);
		threads_start(readers, NR_CROWD / 2, read_once, NULL);
		await_count(&nr_here, NR_CROWD / 2);
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
		threads_join(writers, NR_CROWD / 2);
		threads_join(readers, NR_CROWD / 2);
		CHECK_EQ(s->count, NR_CROWD / 2);
	}
}

/* --- barriers ------------------------------------------------------------- */

static void *meet(void *arg)
{
	if (pthread_barrier_wait(&s->barrier) ==
	    PTHREAD_BARRIER_SERIAL_THREAD) {
		nr_done++;
		CHECK_EQ(pthread_barrier_destroy(&s->barrier), 0);
	}
	return NULL;
}

/* One thread destroys the barrier while the others leave it. */
TEST(barrier_many_wait)
{
	pthread_t threads[NR_CROWD];

	make_shared();
	for (int i = 1; i <= 4; i++) {
		make_barrier(&s->barrier, NR_CROWD);
		threads_start(threads, NR_CROWD, meet, NULL);
		threads_join(threads, NR_CROWD);
		CHECK_EQ(nr_done, i);
	}
}

/* --- waiters in a process that dies --------------------------------------- */

static void *announce_and_take(void *arg)
{
	CHECK_EQ(sem_post(&s->answer), 0);
	CHECK_EQ(sem_wait(&s->sem), 0);
	return NULL;
}

TEST(semaphore_waiter_is_killed)
{
	pid_t pid;

	make_shared();
	pid = start_child(announce_and_take);
	CHECK_EQ(sem_wait(&s->answer), 0);
	await_rest_of(pid);
	kill_child(pid);
	CHECK_EQ(sem_post(&s->sem), 0);
	thread_join(thread_start(announce_and_take, NULL));
}

static void *announce_and_write(void *arg)
{
	CHECK_EQ(sem_post(&s->answer), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	return NULL;
}

/* A killed waiter leaves no trace in the lock. */
TEST(rwlock_waiter_is_killed)
{
	pid_t pid;

	make_shared();
	make_rwlock(&s->rwlock, PTHREAD_RWLOCK_PREFER_READER_NP);
	CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
	pid = start_child(announce_and_write);
	CHECK_EQ(sem_wait(&s->answer), 0);
	await_rest_of(pid);
	kill_child(pid);
	CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
	thread_join(thread_start(write_once, NULL));
	thread_join(thread_start(read_once, NULL));
}
