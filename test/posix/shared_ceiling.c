/* SPDX-License-Identifier: MIT */
/*
 * Mutexes with a priority ceiling between three processes: the case's process,
 * a forked child, and a process that starts without LD_PRELOAD. All threads
 * that lock them have real-time policies, as these mutexes require.
 */
#include "mixed.h"

enum { OWN = 5, CEILING = 40, HIGHER = 50, MOST = NR_ROUNDS / 5 };

static struct objects {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t held, may_end;
	long count, turn;
} * o;

static void make(int type)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT), 0);
	CHECK_EQ(pthread_mutexattr_setprioceiling(&attr, CEILING), 0);
	CHECK_EQ(pthread_mutex_init(&o->mutex, &attr), 0);
}

static void become_realtime(void)
{
	const struct sched_param param = { .sched_priority = OWN };

	if (pthread_setschedparam(pthread_self(), SCHED_RR, &param) != 0)
		SKIP("no real-time policies here");
}

static void map(void)
{
	o = map_objects(sizeof(*o));
	if (is_third()) {
		CHECK(!is_on_weft());
		return;
	}
	CHECK_EQ(sem_init(&o->held, 1, 0), 0);
	CHECK_EQ(sem_init(&o->may_end, 1, 0), 0);
	make_cond(&o->cond, CLOCK_REALTIME);
}

static void check_priority(int expected)
{
	struct sched_param param;
	int policy;

	CHECK_EQ(sched_getparam(0, &param), 0);
	CHECK_EQ(param.sched_priority, expected);
	CHECK_EQ(pthread_getschedparam(pthread_self(), &policy, &param), 0);
	CHECK_EQ(param.sched_priority, OWN);
}

/* --- one mutex at a time -------------------------------------------------- */

static void *count(void *arg)
{
	become_realtime();
	for (int i = 0; i < MOST; i++) {
		CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
		o->count++;
		if (i % 16 == 0)
			sleep_ms(1);
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	}
	return NULL;
}

/* The threads take turns; a broadcast announces each turn. */
static void *take_turns(void *arg)
{
	become_realtime();
	for (int i = 0; i < MOST / 4; i++) {
		long turn;

		CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
		turn = o->turn;
		o->count++;
		if (o->count % 12 == 0) {
			o->turn++;
			CHECK_EQ(pthread_cond_broadcast(&o->cond), 0);
		}
		while (o->turn == turn)
			CHECK_EQ(pthread_cond_wait(&o->cond, &o->mutex), 0);
		check_priority(CEILING);
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	}
	return NULL;
}

static void run_in_three(void *(*start)(void *))
{
	pid_t second, third;

	map();
	if (is_third()) {
		run_threads(start);
		exit(0);
	}
	become_realtime();
	make(PTHREAD_MUTEX_NORMAL);
	second = fork();
	CHECK(second >= 0);
	if (second == 0) {
		run_threads(start);
		_exit(0);
	}
	third = start_third();
	run_threads(start);
	await_child(second);
	await_child(third);
}

TEST(excludes)
{
	run_in_three(count);
	CHECK_EQ(o->count, 3 * NR_THREADS * MOST);
	CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
}

TEST(waits_for_conditions)
{
	run_in_three(take_turns);
	CHECK_EQ(o->turn, MOST / 4);
	CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
}

/* --- rules of the protocol ------------------------------------------------ */

static void *check_others(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 5);

	/* A thread that may not lock it gets EINVAL, even if it is free. */
	CHECK_EQ(pthread_mutex_lock(&o->mutex), EINVAL);
	become_realtime();
	CHECK_EQ(pthread_mutex_trylock(&o->mutex), EBUSY);
	CHECK_EQ(pthread_mutex_timedlock(&o->mutex, &soon), ETIMEDOUT);
	return NULL;
}

static void *own(void *arg)
{
	int type = (int)(intptr_t)arg;
	int again = type == PTHREAD_MUTEX_RECURSIVE ? 0 : EDEADLK;

	become_realtime();
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	check_priority(CEILING);
	if (type != PTHREAD_MUTEX_NORMAL)
		CHECK_EQ(pthread_mutex_lock(&o->mutex), again);
	if (type == PTHREAD_MUTEX_RECURSIVE)
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK_EQ(sem_post(&o->held), 0);
	CHECK_EQ(sem_wait(&o->may_end), 0);
	check_priority(CEILING);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	check_priority(OWN);
	if (type != PTHREAD_MUTEX_NORMAL)
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), EPERM);
	return NULL;
}

TEST(has_types)
{
	static const intptr_t types[] = { PTHREAD_MUTEX_NORMAL,
					  PTHREAD_MUTEX_RECURSIVE,
					  PTHREAD_MUTEX_ERRORCHECK };

	map();
	if (is_third()) {
		check_others(NULL);
		exit(0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_t t;

		make((int)types[i]);
		t = thread_start(own, (void *)types[i]);
		CHECK_EQ(sem_wait(&o->held), 0);
		thread_join(thread_start(check_others, NULL));
		await_child(start_third());
		CHECK_EQ(sem_post(&o->may_end), 0);
		thread_join(t);
		CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
	}
}

static void *leave_locked(void *arg)
{
	become_realtime();
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	return NULL;
}

/* The mutex's ceiling, and owners that end with the mutex. */
TEST(has_a_ceiling)
{
	int old;

	map();
	if (is_third())
		return;
	become_realtime();
	make(PTHREAD_MUTEX_NORMAL);
	CHECK_EQ(pthread_mutex_setprioceiling(&o->mutex, HIGHER, &old), 0);
	CHECK_EQ(old, CEILING);
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	check_priority(HIGHER);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK_EQ(pthread_mutex_setprioceiling(&o->mutex, OWN - 1, &old), 0);
	CHECK_EQ(old, HIGHER);
	CHECK_EQ(pthread_mutex_trylock(&o->mutex), EINVAL);
	for (int i = 0; i < 300; i++) {
		make(PTHREAD_MUTEX_NORMAL);
		thread_join(thread_start(leave_locked, NULL));
	}
	CHECK_EQ(pthread_mutex_trylock(&o->mutex), EBUSY);
	check_priority(OWN);
}
