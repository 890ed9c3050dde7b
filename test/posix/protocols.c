/* SPDX-License-Identifier: MIT */
/* Mutexes with priority inheritance or a ceiling: which thread is boosted to
 * which priority, and when that ends. */
#include <errno.h>

#include "realtime.h"

enum { NR_THREADS = 6, NR_ROUNDS = 2000 };

static pthread_mutex_t first, second;
static sem_t held, lent;

static void make(pthread_mutex_t *m, int type, int protocol, int ceiling)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	if (protocol == PTHREAD_PRIO_PROTECT)
		CHECK_EQ(pthread_mutexattr_setprioceiling(&attr, ceiling), 0);
	CHECK_EQ(pthread_mutex_init(m, &attr), 0);
	CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
}

static void begin_with(int protocol, int first_ceiling, int second_ceiling)
{
	make(&first, PTHREAD_MUTEX_NORMAL, protocol, first_ceiling);
	make(&second, PTHREAD_MUTEX_NORMAL, protocol, second_ceiling);
	CHECK_EQ(sem_init(&held, 0, 0), 0);
	CHECK_EQ(sem_init(&lent, 0, 0), 0);
	begin();
}

static void lock(pthread_mutex_t *m)
{
	CHECK_EQ(pthread_mutex_lock(m), 0);
}

static void unlock(pthread_mutex_t *m)
{
	CHECK_EQ(pthread_mutex_unlock(m), 0);
}

/* Returns when the new thread holds the mutex. */
static pthread_t start_holder(int priority, void *(*start)(void *))
{
	pthread_t t = start_fifo(priority, start, NULL);

	CHECK_EQ(sem_wait(&held), 0);
	return t;
}

static void *hold_first(void *arg)
{
	lock(&first);
	CHECK_EQ(sem_post(&held), 0);
	note('l');
	unlock(&first);
	note('x');
	return NULL;
}

static void *want_first(void *arg)
{
	lock(&first);
	note('h');
	unlock(&first);
	return NULL;
}

TEST(inherits_its_waiters_priority)
{
	pthread_t t[3];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	t[0] = start_holder(20, hold_first);
	t[1] = start_fifo(30, note_own, NOTE('m'));
	t[2] = start_fifo(40, want_first, NULL);
	threads_join(t, 3);
	check_order("lhmx");
}

static void *hold_both(void *arg)
{
	lock(&second);
	CHECK_EQ(sem_post(&held), 0);
	lock(&first);
	note('b');
	unlock(&first);
	unlock(&second);
	note('y');
	return NULL;
}

static void *want_second(void *arg)
{
	lock(&second);
	note('c');
	unlock(&second);
	return NULL;
}

TEST(inherits_along_a_chain)
{
	pthread_t t[4];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	t[0] = start_holder(10, hold_first);
	t[1] = start_holder(20, hold_both);
	t[2] = start_fifo(30, note_own, NOTE('m'));
	t[3] = start_fifo(40, want_second, NULL);
	threads_join(t, 4);
	check_order("lbcmyx");
}

/* With two mutexes held, the remaining one still boosts after an unlock. */
static void *hold_two(void *arg)
{
	lock(&first);
	lock(&second);
	CHECK_EQ(sem_post(&held), 0);
	note('1');
	unlock(&first);
	note('2');
	unlock(&second);
	note('3');
	return NULL;
}

TEST(inherits_the_highest_of_all)
{
	pthread_t t[5];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	t[0] = start_holder(20, hold_two);
	t[1] = start_fifo(45, want_first, NULL);
	t[2] = start_fifo(40, note_own, NOTE('m'));
	t[3] = start_fifo(35, want_second, NULL);
	t[4] = start_fifo(30, note_own, NOTE('n'));
	threads_join(t, 5);
	check_order("1hm2cn3");
}

static void *hold_until_lent(void *arg)
{
	lock(&first);
	CHECK_EQ(sem_post(&held), 0);
	CHECK_EQ(sem_wait(&lent), 0);
	note('l');
	unlock(&first);
	return NULL;
}

static sem_t told;

static void *note_m_when_told(void *arg)
{
	CHECK_EQ(sem_wait(&told), 0);
	return note_own(NOTE('m'));
}

static void *want_for_a_moment(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_mutex_timedlock(&first, &soon), ETIMEDOUT);
	CHECK_EQ(sem_post(&lent), 0);
	CHECK_EQ(sem_post(&told), 0);
	note('h');
	return NULL;
}

TEST(inherits_until_the_waiter_gives_up)
{
	pthread_t t[3];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	CHECK_EQ(sem_init(&told, 0, 0), 0);
	t[0] = start_holder(20, hold_until_lent);
	t[1] = start_fifo(40, want_for_a_moment, NULL);
	t[2] = start_fifo(30, note_m_when_told, NULL);
	threads_join(t, 3);
	check_order("hml");
}

static void *tell_both(void *arg)
{
	await_rest();
	CHECK_EQ(sem_post(&lent), 0);
	CHECK_EQ(sem_post(&told), 0);
	return NULL;
}

/* A holder without a real-time policy inherits a real-time priority. */
TEST(inherits_without_a_policy)
{
	pthread_t t[4];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	CHECK_EQ(sem_init(&told, 0, 0), 0);
	t[0] = thread_start_policy(SCHED_OTHER, 0, NULL, hold_until_lent, NULL);
	CHECK_EQ(sem_wait(&held), 0);
	await_rest();
	t[1] = start_fifo(30, note_m_when_told, NULL);
	t[2] = start_fifo(40, want_first, NULL);
	t[3] = start_fifo(45, tell_both, NULL);
	threads_join(t, 4);
	check_order("lhm");
}

static void *hold_and_tell(void *arg)
{
	lock(&first);
	CHECK_EQ(sem_post(&held), 0);
	CHECK_EQ(sem_post(&lent), 0);
	note('l');
	unlock(&first);
	note('x');
	return NULL;
}

/* When a waiter's priority changes, the boost changes too. */
TEST(inherits_less_than_before)
{
	pthread_t t[3];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	t[0] = start_holder(20, hold_and_tell);
	t[1] = start_fifo(40, want_first, NULL);
	t[2] = start_fifo(30, note_own, NOTE('m'));
	CHECK_EQ(sem_wait(&lent), 0);
	CHECK_EQ(pthread_setschedprio(t[1], 25), 0);
	threads_join(t, 3);
	check_order("mlhx");
}

static void *want_second_then_note(void *arg)
{
	lock(&second);
	note((char)(intptr_t)arg);
	unlock(&second);
	return NULL;
}

/* A priority change moves a waiting thread in the mutex's queue. */
TEST(goes_by_priority)
{
	pthread_t t[4];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	lock(&second);
	t[0] = start_fifo(MAIN + 1, want_second_then_note, NOTE('a'));
	t[1] = start_fifo(MAIN + 3, want_second_then_note, NOTE('b'));
	t[2] = start_fifo(MAIN + 2, want_second_then_note, NOTE('c'));
	t[3] = start_fifo(MAIN + 2, want_second_then_note, NOTE('d'));
	CHECK_EQ(pthread_setschedprio(t[0], MAIN + 4), 0);
	CHECK_EQ(nr_order, 0);
	unlock(&second);
	threads_join(t, 4);
	check_order("abcd");
}

TEST(ceiling_keeps_others_out)
{
	pthread_t t[2];

	begin_with(PTHREAD_PRIO_PROTECT, 40, 40);
	t[0] = start_holder(20, hold_first);
	t[1] = start_fifo(30, note_own, NOTE('m'));
	threads_join(t, 2);
	check_order("lmx");
}

TEST(highest_ceiling_of_all)
{
	pthread_t t[3];

	begin_with(PTHREAD_PRIO_PROTECT, 40, 35);
	t[0] = start_holder(20, hold_two);
	t[1] = start_fifo(37, note_own, NOTE('m'));
	t[2] = start_fifo(33, note_own, NOTE('n'));
	threads_join(t, 3);
	check_order("1m2n3");
}

static void *fail_to_lock(void *arg)
{
	CHECK_EQ(pthread_mutex_trylock(&first), EBUSY);
	CHECK_EQ(sem_post(&held), 0);
	note('t');
	return NULL;
}

TEST(ceiling_of_the_holder_alone)
{
	pthread_t t[2];

	begin_with(PTHREAD_PRIO_PROTECT, 60, 60);
	lock(&first);
	t[0] = start_holder(20, fail_to_lock);
	t[1] = start_fifo(30, note_own, NOTE('m'));
	unlock(&first);
	threads_join(t, 2);
	check_order("mt");
}

static void check_own(int priority, int priority_in_kernel)
{
	struct sched_param param;
	int policy;

	CHECK_EQ(pthread_getschedparam(pthread_self(), &policy, &param), 0);
	CHECK_EQ(policy, SCHED_FIFO);
	CHECK_EQ(param.sched_priority, priority);
	CHECK_EQ(sched_getparam(0, &param), 0);
	CHECK_EQ(param.sched_priority, priority_in_kernel);
}

TEST(ceiling_is_seen)
{
	begin_with(PTHREAD_PRIO_PROTECT, 60, 70);
	lock(&first);
	check_own(MAIN, 60);
	lock(&second);
	check_own(MAIN, 70);
	unlock(&second);
	check_own(MAIN, 60);
	CHECK_EQ(pthread_setschedprio(pthread_self(), 55), 0);
	check_own(55, 60);
	unlock(&first);
	check_own(55, 55);
}

/* The process has no other thread, so the runtime has not started. */
TEST(ceiling_of_the_only_thread)
{
	struct sched_param param = { .sched_priority = MAIN };

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		SKIP("no real-time policies here");
	make(&first, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 60);
	lock(&first);
	check_own(MAIN, 60);
	unlock(&first);
	check_own(MAIN, MAIN);
}

TEST(ceiling_has_rules)
{
	struct timespec past = { 0 };
	int old;

	begin_with(PTHREAD_PRIO_PROTECT, 60, 40);
	CHECK_EQ(pthread_mutex_lock(&second), EINVAL);
	CHECK_EQ(pthread_mutex_trylock(&second), EINVAL);
	CHECK_EQ(pthread_mutex_clocklock(&second, CLOCK_MONOTONIC, &past),
		 EINVAL);
	set_own(SCHED_FIFO, 40);
	lock(&second);
	lock(&first);
	unlock(&first);
	unlock(&second);
	CHECK_EQ(pthread_mutex_setprioceiling(&second, 30, &old), 0);
	CHECK_EQ(old, 40);
	CHECK_EQ(pthread_mutex_lock(&second), EINVAL);
	CHECK_EQ(pthread_mutex_setprioceiling(&second, 0, &old), EINVAL);
	CHECK_EQ(pthread_mutex_setprioceiling(&second, 100, &old), EINVAL);
	CHECK_EQ(pthread_mutex_getprioceiling(&second, &old), 0);
	CHECK_EQ(old, 30);
}

static void *refuse(void *arg)
{
	CHECK_EQ(arg == NULL ? pthread_mutex_lock(&first) :
			       pthread_mutex_trylock(&first),
		 EINVAL);
	return NULL;
}

/* Each thread asks once: in libc a refused thread keeps the priority. */
TEST(ceiling_of_real_time_threads_only)
{
	make(&first, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_PROTECT, 10);
	refuse(NULL);
	thread_join(thread_start(refuse, NULL));
	thread_join(thread_start(refuse, &first));
}

/* --- ordinary use as mutexes ---------------------------------------------- */

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long count, turn;

static void *count_up(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		struct timespec soon = deadline_ms(CLOCK_REALTIME, i % 2);

		while (i % 4 == 1 && pthread_mutex_trylock(&first) != 0)
			sched_yield();
		while (i % 4 >= 2 &&
		       pthread_mutex_timedlock(&first, &soon) != 0)
			soon = deadline_ms(CLOCK_REALTIME, 1000);
		if (i % 4 == 0)
			lock(&first);
		count++;
		if (i % 8 == 0)
			sched_yield();
		unlock(&first);
	}
	return NULL;
}

static void *take_turns(void *arg)
{
	for (int i = 0; i < 50; i++) {
		lock(&first);
		while (turn % NR_THREADS != (intptr_t)arg)
			CHECK_EQ(pthread_cond_wait(&cond, &first), 0);
		turn++;
		CHECK_EQ(pthread_cond_broadcast(&cond), 0);
		unlock(&first);
	}
	return NULL;
}

static void use(int type)
{
	pthread_t t[NR_THREADS];

	count = turn = 0;
	make(&first, type, PTHREAD_PRIO_INHERIT, 0);
	threads_start(t, NR_THREADS, count_up, NULL);
	threads_join(t, NR_THREADS);
	CHECK_EQ(count, NR_THREADS * NR_ROUNDS);
	threads_start_numbered(t, NR_THREADS, take_turns);
	threads_join(t, NR_THREADS);
	CHECK_EQ(turn, NR_THREADS * 50);
	CHECK_EQ(pthread_mutex_destroy(&first), 0);
}

TEST(excludes)
{
	use(PTHREAD_MUTEX_NORMAL);
	use(PTHREAD_MUTEX_RECURSIVE);
	use(PTHREAD_MUTEX_ERRORCHECK);
}

/* Locks both mutexes, or gives up at a deadline, and counts under each. */
static void *lock_in_a_chain(void *arg)
{
	for (int i = 0; i < 60; i++) {
		struct timespec soon = deadline_ms(CLOCK_REALTIME, i % 3);

		lock(&second);
		turn++;
		if (i % 2 == 0) {
			lock(&first);
			count++;
			unlock(&first);
		} else if (pthread_mutex_timedlock(&first, &soon) == 0) {
			count++;
			sched_yield();
			unlock(&first);
		}
		unlock(&second);
	}
	return NULL;
}

/* Priorities change all the time. In the end no boost may be left. */
TEST(boosts_in_a_crowd)
{
	pthread_t t[NR_THREADS], last[2];

	begin_with(PTHREAD_PRIO_INHERIT, 0, 0);
	turn = 0;
	for (int i = 0; i < NR_THREADS; i++)
		t[i] = start_fifo(10 + i, lock_in_a_chain, NULL);
	for (int i = 0; i < 30; i++) {
		CHECK_EQ(pthread_setschedprio(t[i % NR_THREADS], 10 + i % 30),
			 0);
		if (i % 8 == 0) {
			lock(&first);
			sleep_ms(1);
			unlock(&first);
		}
		sched_yield();
	}
	threads_join(t, NR_THREADS);
	CHECK_EQ(turn, NR_THREADS * 60);
	set_own(SCHED_FIFO, 20);
	last[0] = start_fifo(21, note_own, NOTE('a'));
	note('m');
	last[1] = start_fifo(19, note_own, NOTE('b'));
	note('n');
	threads_join(last, 2);
	check_order("amnb");
}
