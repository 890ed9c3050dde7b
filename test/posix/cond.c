/* SPDX-License-Identifier: MIT */
/* Condition variables: both clocks, signal and broadcast, time-outs. */
#include "check.h"
#include "threading.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int nr_waiting;
static int nr_awake;
static int nr_tickets;

static void lock(void)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
}

static void unlock(void)
{
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void *take_ticket(void *arg)
{
	lock();
	nr_waiting++;
	while (nr_tickets == 0)
		CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
	nr_tickets--;
	nr_awake++;
	unlock();
	return arg;
}

static void await(const int *value, int target)
{
	for (;;) {
		bool reached;

		lock();
		reached = *value >= target;
		unlock();
		if (reached)
			return;
		sched_yield();
	}
}

TEST(signal_wakes_one_for_each)
{
	pthread_t threads[50];

	threads_start(threads, 50, take_ticket, NULL);
	await(&nr_waiting, 50);
	for (int i = 0; i < 50; i++) {
		lock();
		CHECK(nr_awake <= i);
		nr_tickets++;
		CHECK_EQ(pthread_cond_signal(&cond), 0);
		unlock();
		if (i % 2)
			await(&nr_awake, i + 1);
	}
	threads_join(threads, 50);
	CHECK_EQ(nr_tickets, 0);
}

TEST(broadcast_wakes_hundred)
{
	for (int round = 0; round < 20; round++) {
		pthread_t threads[100];

		nr_waiting = 0;
		threads_start(threads, 100, take_ticket, NULL);
		await(&nr_waiting, 100);
		lock();
		nr_tickets = 100;
		CHECK_EQ(pthread_cond_broadcast(&cond), 0);
		if (round % 2)
			sched_yield();
		unlock();
		threads_join(threads, 100);
		CHECK_EQ(nr_tickets, 0);
	}
}

TEST(broadcast_without_the_mutex)
{
	pthread_t threads[100];

	threads_start(threads, 100, take_ticket, NULL);
	await(&nr_waiting, 100);
	lock();
	nr_tickets = 100;
	unlock();
	CHECK_EQ(pthread_cond_broadcast(&cond), 0);
	threads_join(threads, 100);
}

TEST(signal_without_waiter_is_lost)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_cond_signal(&cond), 0);
	CHECK_EQ(pthread_cond_broadcast(&cond), 0);
	lock();
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
	unlock();
}

/* After a time-out the waiter owns the mutex again. */
static void *probe_mutex(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)pthread_mutex_trylock(&mutex);
}

static void check_owned(void)
{
	CHECK_EQ((intptr_t)thread_join(thread_start(probe_mutex, NULL)), EBUSY);
}

TEST(timed_wait_realtime)
{
	int64_t start = now_ns();
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 40);

	lock();
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 38);
	check_owned();
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
	check_owned();
	unlock();
}

TEST(timed_wait_monotonic)
{
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 40);
	int64_t start = now_ns();
	pthread_condattr_t attr;
	pthread_cond_t own;
	clockid_t clock;

	CHECK_EQ(pthread_condattr_init(&attr), 0);
	CHECK_EQ(pthread_condattr_getclock(&attr, &clock), 0);
	CHECK_EQ(clock, CLOCK_REALTIME);
	CHECK_EQ(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID),
		 EINVAL);
	CHECK_EQ(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), 0);
	CHECK_EQ(pthread_cond_init(&own, &attr), 0);
	CHECK_EQ(pthread_condattr_destroy(&attr), 0);
	lock();
	CHECK_EQ(pthread_cond_timedwait(&own, &mutex, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 39);
	check_owned();
	unlock();
	CHECK_EQ(pthread_cond_destroy(&own), 0);
}

TEST(clock_wait)
{
	struct timespec ts = deadline_ms(CLOCK_MONOTONIC, 30);
	int64_t start = now_ns();

	lock();
	CHECK_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &ts),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 29);
	ts = deadline_ms(CLOCK_REALTIME, 10);
	CHECK_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &ts),
		 ETIMEDOUT);
	CHECK_EQ(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID,
					&ts),
		 EINVAL);
	check_owned();
	unlock();
}

TEST(invalid_nanoseconds)
{
	struct timespec bad = deadline_ms(CLOCK_REALTIME, 1000);

	lock();
	bad.tv_nsec = NS_PER_S;
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &bad), EINVAL);
	bad.tv_nsec = -1;
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &bad), EINVAL);
	check_owned();
	unlock();
}

TEST(errorcheck_not_owned)
{
	pthread_mutex_t own = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 10);

	CHECK_EQ(pthread_cond_wait(&cond, &own), EPERM);
	CHECK_EQ(pthread_cond_timedwait(&cond, &own, &soon), EPERM);
	CHECK_EQ(pthread_mutex_lock(&own), 0);
	CHECK_EQ(pthread_cond_timedwait(&cond, &own, &soon), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_lock(&own), EDEADLK);
	CHECK_EQ(pthread_mutex_unlock(&own), 0);
}

/* A wait on a recursive mutex that is locked once releases it. */
TEST(recursive_mutex)
{
	pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 10);

	CHECK_EQ(pthread_mutex_lock(&own), 0);
	CHECK_EQ(pthread_cond_timedwait(&cond, &own, &soon), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_unlock(&own), 0);
	CHECK_EQ(pthread_mutex_unlock(&own), EPERM);
}

static void *signal_later(void *arg)
{
	await_rest();
	lock();
	nr_tickets++;
	CHECK_EQ(pthread_cond_signal(&cond), 0);
	unlock();
	return arg;
}

TEST(signal_ends_timed_wait)
{
	struct timespec later = deadline_ms(CLOCK_REALTIME, 10000);
	pthread_t t = thread_start(signal_later, NULL);

	lock();
	while (nr_tickets == 0)
		CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &later), 0);
	unlock();
	thread_join(t);
}

/*
 * A wake is not lost when the waiter's time runs out at that moment: one signal
 * announces each ticket, and one waiter takes it.
 */
static int nr_left;

static void *short_waiter(void *arg)
{
	for (;;) {
		struct timespec ts = deadline_ms(CLOCK_REALTIME, 0);

		ts = ts_after_ns(ts, 50000);
		lock();
		if (nr_left == 0) {
			unlock();
			return arg;
		}
		if (nr_tickets == 0)
			pthread_cond_timedwait(&cond, &mutex, &ts);
		if (nr_tickets > 0) {
			nr_tickets--;
			nr_left--;
		}
		unlock();
	}
}

TEST(time_outs_beside_signals)
{
	pthread_t threads[10];

	nr_left = 2000;
	threads_start(threads, 10, short_waiter, NULL);
	for (int i = 0; i < 2000; i++) {
		lock();
		nr_tickets++;
		CHECK_EQ(pthread_cond_signal(&cond), 0);
		unlock();
		if (i % 20 == 0)
			sched_yield();
	}
	threads_join(threads, 10);
	CHECK_EQ(nr_tickets, 0);
}

/*
 * Producers and consumers share a buffer of one element; no wake may be lost.
 */
static int slot;
static pthread_cond_t emptied = PTHREAD_COND_INITIALIZER;
static long sum;

static void *produce(void *arg)
{
	for (int i = 1; i <= 500; i++) {
		lock();
		while (slot != 0)
			CHECK_EQ(pthread_cond_wait(&emptied, &mutex), 0);
		slot = i;
		CHECK_EQ(pthread_cond_signal(&cond), 0);
		unlock();
	}
	return arg;
}

static void *consume(void *arg)
{
	for (int i = 1; i <= 500; i++) {
		lock();
		while (slot == 0)
			CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
		sum += slot;
		slot = 0;
		CHECK_EQ(pthread_cond_signal(&emptied), 0);
		unlock();
	}
	return arg;
}

TEST(producers_and_consumers)
{
	pthread_t producers[8], consumers[8];

	threads_start(producers, 8, produce, NULL);
	threads_start(consumers, 8, consume, NULL);
	threads_join(producers, 8);
	threads_join(consumers, 8);
	CHECK_EQ(sum, 8L * 500 * 501 / 2);
}

/*
 * A condition variable may be destroyed as soon as no thread waits for it, even
 * if the woken threads have not run yet.
 */
struct short_lived {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool is_set;
};

static void *set_it(void *arg)
{
	struct short_lived *s = arg;

	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	s->is_set = true;
	CHECK_EQ(pthread_cond_signal(&s->cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	return NULL;
}

TEST(destroy_after_wake)
{
	for (int i = 0; i < 500; i++) {
		struct short_lived s = { .is_set = false };
		pthread_t t;

		CHECK_EQ(pthread_mutex_init(&s.mutex, NULL), 0);
		CHECK_EQ(pthread_cond_init(&s.cond, NULL), 0);
		t = thread_start(set_it, &s);
		CHECK_EQ(pthread_mutex_lock(&s.mutex), 0);
		while (!s.is_set)
			CHECK_EQ(pthread_cond_wait(&s.cond, &s.mutex), 0);
		CHECK_EQ(pthread_mutex_unlock(&s.mutex), 0);
		CHECK_EQ(pthread_cond_destroy(&s.cond), 0);
		thread_join(t);
		CHECK_EQ(pthread_mutex_destroy(&s.mutex), 0);
	}
}

/* A mutex that a waiter will lock again is in use, although it is free. */
static pthread_mutex_t used[3];

static void *wait_with(void *arg)
{
	pthread_mutex_t *own = arg;

	CHECK_EQ(pthread_mutex_lock(own), 0);
	lock();
	nr_waiting++;
	unlock();
	while (nr_tickets == 0)
		CHECK_EQ(pthread_cond_wait(&cond, own), 0);
	CHECK_EQ(pthread_mutex_unlock(own), 0);
	return NULL;
}

static void check_in_use(int type)
{
	pthread_mutex_t *own = &used[type];
	pthread_mutexattr_t attr;
	pthread_t waiter;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutex_init(own, &attr), 0);
	nr_waiting = 0;
	nr_tickets = 0;
	waiter = thread_start(wait_with, own);
	await(&nr_waiting, 1);
	/* the waiter has released it, so it waits now */
	CHECK_EQ(pthread_mutex_lock(own), 0);
	CHECK_EQ(pthread_mutex_unlock(own), 0);
	CHECK_EQ(pthread_mutex_destroy(own), EBUSY);
	CHECK_EQ(pthread_mutex_lock(own), 0);
	nr_tickets = 1;
	CHECK_EQ(pthread_cond_signal(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(own), 0);
	thread_join(waiter);
	CHECK_EQ(pthread_mutex_destroy(own), 0);
}

TEST(mutex_of_a_waiter_is_busy)
{
	check_in_use(PTHREAD_MUTEX_NORMAL);
	check_in_use(PTHREAD_MUTEX_RECURSIVE);
	check_in_use(PTHREAD_MUTEX_ERRORCHECK);
}

static void *wait_a_moment(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 1);

	CHECK_EQ(pthread_mutex_lock(arg), 0);
	CHECK_EQ(pthread_cond_timedwait(&cond, arg, &soon), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_unlock(arg), 0);
	return NULL;
}

TEST(mutex_is_free_after_time_outs)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[20];

	threads_start(threads, 20, wait_a_moment, &own);
	threads_join(threads, 20);
	CHECK_EQ(pthread_mutex_destroy(&own), 0);
}
