/* SPDX-License-Identifier: MIT */
/* Mutexes between processes, and robust ones. */
#include <errno.h>
#include <sched.h>

#include "mixed.h"

static void make_robust(int protocol)
{
	make_mutex(&s->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_SHARED, protocol);
}

/* --- mutexes -------------------------------------------------------------- */

static void *count_under_mutex(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
		s->count++;
		if (i % 16 == 0)
			sched_yield();
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	}
	return NULL;
}

static void count_with(int robust, int protocol)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL,
				     PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };

	make_shared();
	for (int i = 0; i < 3; i++) {
		make_mutex(&s->mutex, types[i], robust, PTHREAD_PROCESS_SHARED,
			   protocol);
		s->count = 0;
		run_in_both(count_under_mutex);
		CHECK_EQ(s->count, 2 * NR_THREADS * NR_ROUNDS);
		CHECK_EQ(pthread_mutex_destroy(&s->mutex), 0);
	}
}

TEST(mutex)
{
	count_with(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}

TEST(mutex_robust)
{
	count_with(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
}

TEST(mutex_inherit)
{
	count_with(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	count_with(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
}

/* --- two threads with the same number ------------------------------------- */

enum { MOST_TRIES = 2000, NR_TURNS = 200000 };

static void take_turns(void)
{
	for (int i = 0; i < NR_TURNS; i++) {
		while (pthread_mutex_trylock(&s->mutex) != 0)
			;
		s->count++;
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	}
}

static void *show_number(void *arg)
{
	s->word = (uint32_t)gettid();
	CHECK_EQ(sem_post(&s->sem), 0);
	CHECK_EQ(sem_wait(&s->answer), 0);
	take_turns();
	return arg;
}

static void *compare_number(void *arg)
{
	if (s->word != (uint32_t)gettid())
		return NULL;
	CHECK_EQ(sem_post(&s->answer), 0);
	take_turns();
	return arg;
}

/*
 * Makes threads until one has the other process's thread number, which never
 * happens natively.
 */
static void be_the_other(void)
{
	bool is_found = false;

	CHECK_EQ(sem_wait(&s->sem), 0);
	for (int i = 0; i < MOST_TRIES && !is_found; i++)
		is_found = thread_join(thread_start(compare_number, s)) != NULL;
	CHECK(is_found == is_on_weft());
	if (!is_found) {
		CHECK_EQ(sem_post(&s->answer), 0);
		take_turns();
	}
	_exit(0);
}

TEST(recursive_by_threads_of_one_number)
{
	pid_t pid;

	make_shared();
	make_mutex(&s->mutex, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED,
		   PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		be_the_other();
	thread_join(thread_start(show_number, NULL));
	await_child(pid);
	CHECK_EQ(s->count, 2 * NR_TURNS);
	CHECK_EQ(pthread_mutex_trylock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
}

/* --- owners --------------------------------------------------------------- */

static void *hold_until_told(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(sem_post(&s->answer), 0);
	CHECK_EQ(sem_wait(&s->sem), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), EPERM);
	return NULL;
}

/* Another process's first thread is not this process's first thread. */
static void *is_not_mine(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), EPERM);
	CHECK_EQ(pthread_mutex_timedlock(&s->mutex, &soon), ETIMEDOUT);
	CHECK_EQ(sem_post(&s->sem), 0);
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

static void own_in_turn(int robust)
{
	pid_t pid;

	make_shared();
	make_mutex(&s->mutex, PTHREAD_MUTEX_RECURSIVE, robust,
		   PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
	pid = start_child(hold_until_told);
	CHECK_EQ(sem_wait(&s->answer), 0);
	thread_join(thread_start(is_not_mine, NULL));
	kill_child(pid);
}

TEST(mutex_recursive_of_another_process)
{
	own_in_turn(PTHREAD_MUTEX_STALLED);
}

TEST(mutex_recursive_robust_of_another_process)
{
	own_in_turn(PTHREAD_MUTEX_ROBUST);
}

static void *errorcheck(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_lock(&s->mutex), EDEADLK);
	CHECK_EQ(pthread_mutex_timedlock(&s->mutex, &soon), EDEADLK);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), EPERM);
	return NULL;
}

TEST(mutex_errorcheck)
{
	make_shared();
	for (int robust = 0; robust < 2; robust++) {
		make_mutex(&s->mutex, PTHREAD_MUTEX_ERRORCHECK, robust,
			   PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
		thread_join(thread_start(errorcheck, NULL));
		errorcheck(NULL);
	}
}

/* --- owners that die ------------------------------------------------------ */

static void *leave_locked(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(arg), 0);
	return NULL;
}

static void *inherit(void *arg)
{
	return (void *)(long)pthread_mutex_lock(arg);
}

static void thread_dies(int type, int shared, int protocol)
{
	pthread_mutex_t *m = &s->mutex;
	pthread_t waiter;

	make_mutex(m, type, PTHREAD_MUTEX_ROBUST, shared, protocol);
	CHECK_EQ(pthread_mutex_consistent(m), EINVAL);
	thread_join(thread_start(leave_locked, m));
	CHECK_EQ(pthread_mutex_lock(m), EOWNERDEAD);
	if (type == PTHREAD_MUTEX_ERRORCHECK)
		CHECK_EQ(pthread_mutex_trylock(m), EDEADLK);
	CHECK_EQ(pthread_mutex_consistent(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	/*
	 * Once more. The new owner does not make it consistent while a thread
	 * waits.
	 */
	thread_join(thread_start(leave_locked, m));
	CHECK_EQ(pthread_mutex_trylock(m), EOWNERDEAD);
	waiter = thread_start(inherit, m);
	await_rest();
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	CHECK_EQ((long)thread_join(waiter), ENOTRECOVERABLE);
	CHECK_EQ(pthread_mutex_lock(m), ENOTRECOVERABLE);
	CHECK_EQ(pthread_mutex_destroy(m), 0);
}

static void *all_types(void *arg)
{
	for (int i = 0; i < 4; i++) {
		int protocol = i / 2 == 0 ? PTHREAD_PRIO_NONE :
					    PTHREAD_PRIO_INHERIT;

		thread_dies(PTHREAD_MUTEX_NORMAL, i % 2, protocol);
		thread_dies(PTHREAD_MUTEX_RECURSIVE, i % 2, protocol);
		thread_dies(PTHREAD_MUTEX_ERRORCHECK, i % 2, protocol);
	}
	return NULL;
}

TEST(owner_thread_ends)
{
	make_shared();
	all_types(NULL);
	thread_join(thread_start(all_types, NULL));
}

static void *hold_and_say(void *arg)
{
	int rc = pthread_mutex_lock(&s->mutex);

	CHECK(rc == 0 || rc == EOWNERDEAD);
	CHECK_EQ(sem_post(&s->answer), 0);
	for (;;)
		pause();
}

static void *inherit_from_process(void *arg)
{
	pid_t pid = start_child(hold_and_say);

	CHECK_EQ(sem_wait(&s->answer), 0);
	CHECK_EQ(pthread_mutex_trylock(&s->mutex), EBUSY);
	kill_child(pid);
	CHECK_EQ(pthread_mutex_lock(&s->mutex), EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(&s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

TEST(owner_process_dies)
{
	make_shared();
	make_robust(PTHREAD_PRIO_NONE);
	inherit_from_process(NULL);
	thread_join(thread_start(inherit_from_process, NULL));
	make_robust(PTHREAD_PRIO_INHERIT);
	thread_join(thread_start(inherit_from_process, NULL));
}

/*
 * A second owner dies while threads sleep on the mutex, before it is
 * consistent.
 */
static void die_waited_for(int protocol)
{
	pid_t first, second;
	pthread_t waiter;

	make_shared();
	make_robust(protocol);
	first = start_child(hold_and_say);
	CHECK_EQ(sem_wait(&s->answer), 0);
	second = start_child(hold_and_say);
	await_rest_of(second);
	kill_child(first);
	CHECK_EQ(sem_wait(&s->answer), 0);
	waiter = thread_start(inherit, &s->mutex);
	await_rest();
	kill_child(second);
	CHECK_EQ((long)thread_join(waiter), EOWNERDEAD);
}

TEST(owner_process_dies_waited_for)
{
	die_waited_for(PTHREAD_PRIO_NONE);
	die_waited_for(PTHREAD_PRIO_INHERIT);
}

static void *leave_it_locked(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	return NULL;
}

static void *take_over(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), EOWNERDEAD);
	for (int i = 0; i < 20; i++)
		sched_yield();
	CHECK_EQ(pthread_mutex_consistent(mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	return NULL;
}

/* The kernel names the next owner by its kernel thread id. */
TEST(inherited_from_the_dead)
{
	pthread_t others[4];

	make_shared();
	make_mutex(&s->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_INHERIT);
	for (int i = 0; i < 20; i++) {
		threads_start(others, 4, thread_nothing, NULL);
		thread_join(thread_start(leave_it_locked, &s->mutex));
		thread_join(thread_start(take_over, &s->mutex));
		threads_join(others, 4);
	}
}
