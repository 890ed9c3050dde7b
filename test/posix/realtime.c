/* SPDX-License-Identifier: MIT */
/* Real-time threads: which run, in which order, and which are preempted. */
#include <errno.h>

#include "realtime.h"

TEST(by_priority)
{
	pthread_t t[5];

	begin();
	t[0] = start_fifo(10, note_own, NOTE('a'));
	t[1] = start_fifo(30, note_own, NOTE('b'));
	t[2] = start_fifo(20, note_own, NOTE('c'));
	t[3] = thread_start_policy(SCHED_RR, 40, NULL, note_own, NOTE('d'));
	t[4] = thread_start_policy(SCHED_OTHER, 0, NULL, note_own, NOTE('e'));
	CHECK_EQ(nr_order, 0);
	threads_join(t, 5);
	check_order("dbcae");
}

TEST(created_above_its_creator)
{
	pthread_t t;

	begin();
	t = start_fifo(MAIN + 1, note_own, NOTE('a'));
	CHECK_EQ(nr_order, 1);
	thread_join(t);
}

static sem_t sem;

static void *note_when_told(void *arg)
{
	CHECK_EQ(sem_wait(&sem), 0);
	note((char)(intptr_t)arg);
	return NULL;
}

TEST(woken_above_its_waker)
{
	pthread_t t[3];

	begin();
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	t[0] = start_fifo(MAIN + 1, note_when_told, NOTE('a'));
	t[1] = start_fifo(MAIN, note_when_told, NOTE('b'));
	sched_yield();
	t[2] = thread_start_policy(SCHED_OTHER, 0, NULL, note_when_told,
				   NOTE('c'));
	CHECK_EQ(sem_post(&sem), 0);
	check_order("a");
	CHECK_EQ(sem_post(&sem), 0);
	check_order("a");
	sched_yield();
	check_order("ab");
	CHECK_EQ(sem_post(&sem), 0);
	threads_join(t, 3);
}

TEST(own_priority_lowered)
{
	pthread_t t[2];

	begin();
	t[0] = start_fifo(30, note_own, NOTE('a'));
	t[1] = start_fifo(20, note_own, NOTE('b'));
	CHECK_EQ(pthread_setschedprio(pthread_self(), 40), 0);
	CHECK_EQ(nr_order, 0);
	CHECK_EQ(pthread_setschedprio(pthread_self(), 25), 0);
	check_order("a");
	set_own(SCHED_OTHER, 0);
	check_order("ab");
	threads_join(t, 2);
}

TEST(others_priority_raised)
{
	struct sched_param above = { .sched_priority = MAIN + 1 };
	pthread_t t[3];

	begin();
	t[0] = start_fifo(30, note_own, NOTE('a'));
	t[1] = start_fifo(20, note_own, NOTE('b'));
	t[2] = thread_start_policy(SCHED_OTHER, 0, NULL, note_own, NOTE('c'));
	CHECK_EQ(pthread_setschedprio(t[1], MAIN + 1), 0);
	check_order("b");
	CHECK_EQ(pthread_setschedparam(t[2], SCHED_RR, &above), 0);
	check_order("bc");
	threads_join(t, 3);
	check_order("bca");
}

/* --- threads without a policy wait for their turn ------------------------- */

enum { NR_OTHERS = 5 };

static _Atomic int nr_begun, nr_turns;
static _Atomic bool may_end;

static void *take_turns(void *arg)
{
	nr_begun++;
	while (!may_end) {
		nr_turns++;
		sched_yield();
	}
	note((char)(intptr_t)arg);
	return NULL;
}

/*
 * Returns when the other threads have run, so they no longer delay the caller.
 */
static void start_others(pthread_t threads[NR_OTHERS])
{
	for (int i = 0; i < NR_OTHERS; i++)
		threads[i] = thread_start_policy(SCHED_OTHER, 0, NULL,
						 take_turns, NOTE('a' + i));
	while (nr_begun < NR_OTHERS)
		sleep_ms(1);
}

TEST(raised_while_it_waits_for_its_turn)
{
	struct sched_param above = { .sched_priority = MAIN + 1 };
	pthread_t threads[NR_OTHERS];

	begin();
	start_others(threads);
	may_end = true;
	CHECK_EQ(pthread_setschedparam(threads[3], SCHED_FIFO, &above), 0);
	check_order("d");
	CHECK_EQ(pthread_setschedparam(threads[1], SCHED_FIFO, &above), 0);
	check_order("db");
	threads_join(threads, NR_OTHERS);
}

static pthread_mutex_t lent;

static void *hold_and_yield(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&lent), 0);
	nr_begun++;
	while (!may_end)
		sched_yield();
	CHECK_EQ(pthread_mutex_unlock(&lent), 0);
	return arg;
}

TEST(boosted_while_it_waits_for_its_turn)
{
	pthread_t threads[NR_OTHERS], holder;
	pthread_mutexattr_t attr;
	int before;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
	CHECK_EQ(pthread_mutex_init(&lent, &attr), 0);
	begin();
	holder =
		thread_start_policy(SCHED_OTHER, 0, NULL, hold_and_yield, NULL);
	while (nr_begun == 0)
		sleep_ms(1);
	nr_begun = 0;
	start_others(threads);
	may_end = true;
	before = nr_turns;
	CHECK_EQ(pthread_mutex_lock(&lent), 0);
	CHECK_EQ(nr_turns, before);
	check_order("");
	CHECK_EQ(pthread_mutex_unlock(&lent), 0);
	thread_join(holder);
	threads_join(threads, NR_OTHERS);
}

static void *note_and_yield(void *arg)
{
	for (int i = 0; i < 3; i++) {
		note((char)(intptr_t)arg);
		sched_yield();
	}
	return NULL;
}

TEST(equals_yield_in_turns)
{
	pthread_t t[3];

	begin();
	t[0] = start_fifo(30, note_and_yield, NOTE('a'));
	t[1] = start_fifo(30, note_and_yield, NOTE('b'));
	t[2] = start_fifo(29, note_own, NOTE('c'));
	threads_join(t, 3);
	/* Either of two equal threads may begin. */
	check_order(order[0] == 'a' ? "abababc" : "bababac");
}

static _Atomic bool is_told;

static void *spin_until_told(void *arg)
{
	while (!is_told)
		;
	return NULL;
}

static void *tell(void *arg)
{
	is_told = true;
	return NULL;
}

TEST(round_robin_takes_turns)
{
	pthread_t t[2];

	begin();
	t[0] = thread_start_policy(SCHED_RR, 30, NULL, spin_until_told, NULL);
	t[1] = thread_start_policy(SCHED_RR, 30, NULL, tell, NULL);
	threads_join(t, 2);
}

static void *note_spin_note(void *arg)
{
	int64_t start = now_ns();

	note((char)(intptr_t)arg);
	while (elapsed_ms(start) < 20)
		;
	note((char)(intptr_t)arg);
	return NULL;
}

TEST(fifo_runs_until_it_waits)
{
	pthread_t t[3];

	begin();
	t[0] = start_fifo(30, note_spin_note, NOTE('a'));
	t[1] = start_fifo(30, note_spin_note, NOTE('b'));
	t[2] = thread_start_policy(SCHED_OTHER, 0, NULL, note_own, NOTE('c'));
	threads_join(t, 3);
	check_order(order[0] == 'a' ? "aabbc" : "bbaac");
}

static void *sleep_and_tell(void *arg)
{
	sleep_ms(10);
	is_told = true;
	return NULL;
}

/* The running thread never switches by itself, so it has to be preempted. */
static void interrupt(int policy, int priority)
{
	pthread_t t[2];

	begin();
	t[0] = start_fifo(40, sleep_and_tell, NULL);
	t[1] = thread_start_policy(policy, priority, NULL, spin_until_told,
				   NULL);
	threads_join(t, 2);
}

TEST(sleeper_preempts_fifo)
{
	interrupt(SCHED_FIFO, 30);
}

TEST(sleeper_preempts_others)
{
	interrupt(SCHED_OTHER, 0);
}

static void start_three(pthread_t *ret_threads, void *(*start)(void *))
{
	ret_threads[0] = start_fifo(MAIN + 1, start, NOTE('a'));
	ret_threads[1] = start_fifo(MAIN + 3, start, NOTE('b'));
	ret_threads[2] = start_fifo(MAIN + 2, start, NOTE('c'));
}

TEST(posts_wake_by_priority)
{
	pthread_t t[3];

	begin();
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	start_three(t, note_when_told);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(nr_order, i + 1);
	}
	threads_join(t, 3);
	check_order("bca");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool may_go;

static void *note_locked(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	note((char)(intptr_t)arg);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

TEST(mutex_goes_by_priority)
{
	pthread_t t[4];

	begin();
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	start_three(t, note_locked);
	t[3] = start_fifo(MAIN + 2, note_locked, NOTE('d'));
	CHECK_EQ(nr_order, 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(t, 4);
	check_order("bcda");
}

static void *note_when_may_go(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	while (!may_go)
		CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
	note((char)(intptr_t)arg);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return NULL;
}

TEST(signals_wake_by_priority)
{
	pthread_t t[3];

	begin();
	start_three(t, note_when_may_go);
	may_go = true;
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(pthread_cond_signal(&cond), 0);
		CHECK_EQ(nr_order, i + 1);
	}
	threads_join(t, 3);
	check_order("bca");
}

TEST(broadcast_wakes_by_priority)
{
	pthread_t t[3];

	begin();
	start_three(t, note_when_may_go);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	may_go = true;
	CHECK_EQ(pthread_cond_broadcast(&cond), 0);
	CHECK_EQ(nr_order, 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(t, 3);
	check_order("bca");
}
