/* SPDX-License-Identifier: MIT */
/* Unnamed and named semaphores. */
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

static sem_t sem;
static sem_t back;

static int value_of(sem_t *s)
{
	int value = -1;

	CHECK_EQ(sem_getvalue(s, &value), 0);
	return value;
}

TEST(values)
{
	CHECK_EQ(sem_init(&sem, 0, 3), 0);
	CHECK_EQ(value_of(&sem), 3);
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK_EQ(sem_trywait(&sem), 0);
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK_EQ(value_of(&sem), 0);
	CHECK_ERRNO(sem_trywait(&sem), EAGAIN);
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ(value_of(&sem), 1);
	CHECK_EQ(sem_destroy(&sem), 0);
}

TEST(limits)
{
	CHECK_ERRNO(sem_init(&sem, 0, (unsigned int)SEM_VALUE_MAX + 1), EINVAL);
	CHECK_EQ(sem_init(&sem, 0, SEM_VALUE_MAX), 0);
	CHECK_EQ(value_of(&sem), SEM_VALUE_MAX);
	CHECK_ERRNO(sem_post(&sem), EOVERFLOW);
	CHECK_EQ(value_of(&sem), SEM_VALUE_MAX);
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK_EQ(sem_post(&sem), 0);
}

TEST(timed_out)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 30);
	int64_t start = now_ns();

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_ERRNO(sem_timedwait(&sem, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 28);
	soon = deadline_ms(CLOCK_MONOTONIC, 30);
	start = now_ns();
	CHECK_ERRNO(sem_clockwait(&sem, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 29);
	soon = deadline_ms(CLOCK_REALTIME, -1000);
	CHECK_ERRNO(sem_clockwait(&sem, CLOCK_REALTIME, &soon), ETIMEDOUT);
	CHECK_EQ(value_of(&sem), 0);
}

TEST(bad_deadlines)
{
	struct timespec bad = deadline_ms(CLOCK_REALTIME, 1000);

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	bad.tv_nsec = NS_PER_S;
	CHECK_ERRNO(sem_timedwait(&sem, &bad), EINVAL);
	bad.tv_nsec = -1;
	CHECK_ERRNO(sem_timedwait(&sem, &bad), EINVAL);
	CHECK_ERRNO(sem_clockwait(&sem, CLOCK_MONOTONIC, &bad), EINVAL);
	bad.tv_nsec = 0;
	CHECK_ERRNO(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &bad),
		    EINVAL);
}

/* If a permit is there, the deadline is not checked. */
TEST(timed_wait_with_permit)
{
	struct timespec past = deadline_ms(CLOCK_REALTIME, -1000);

	CHECK_EQ(sem_init(&sem, 0, 2), 0);
	CHECK_EQ(sem_timedwait(&sem, &past), 0);
	CHECK_EQ(sem_clockwait(&sem, CLOCK_REALTIME, &past), 0);
	CHECK_EQ(value_of(&sem), 0);
}

static void *echo_posts(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(sem_wait(&sem), 0);
		CHECK_EQ(sem_post(&back), 0);
	}
	return arg;
}

TEST(ping_pong)
{
	pthread_t t;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(sem_init(&back, 0, 0), 0);
	t = thread_start(echo_posts, NULL);
	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(sem_wait(&back), 0);
	}
	thread_join(t);
}

/* No more threads are inside than the semaphore has permits. */
static _Atomic int nr_inside;
static _Atomic int nr_inside_max;

static void *enter(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int inside, max;

		CHECK_EQ(sem_wait(&sem), 0);
		inside = ++nr_inside;
		CHECK(inside <= 5);
		max = nr_inside_max;
		if (inside > max)
			nr_inside_max = inside;
		sched_yield();
		nr_inside--;
		CHECK_EQ(sem_post(&sem), 0);
	}
	return arg;
}

TEST(limits_threads_inside)
{
	pthread_t threads[50];

	CHECK_EQ(sem_init(&sem, 0, 5), 0);
	threads_start(threads, 50, enter, NULL);
	threads_join(threads, 50);
	CHECK_EQ(value_of(&sem), 5);
	CHECK_EQ(nr_inside, 0);
}

/* Every permit is taken once or left over, even if waits time out. */
static _Atomic long nr_taken;
static _Atomic int is_over;

static void *taker(void *arg)
{
	while (!is_over) {
		struct timespec ts;

		ts = deadline_ms(CLOCK_MONOTONIC, 0);
		ts = ts_after_ns(ts, 20000 * (1 + (intptr_t)arg % 5));
		if (sem_clockwait(&sem, CLOCK_MONOTONIC, &ts) == 0)
			nr_taken++;
		else
			CHECK_EQ(errno, ETIMEDOUT);
	}
	return NULL;
}

TEST(permits_are_conserved)
{
	pthread_t threads[16];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	threads_start_numbered(threads, 16, taker);
	for (int i = 0; i < 5000; i++) {
		CHECK_EQ(sem_post(&sem), 0);
		if (i % 50 == 0)
			sleep_ms(1);
	}
	is_over = 1;
	threads_join(threads, 16);
	CHECK_EQ(nr_taken + value_of(&sem), 5000);
}

static void *wait_once(void *arg)
{
	CHECK_EQ(sem_wait(&sem), 0);
	return arg;
}

TEST(many_waiters)
{
	pthread_t threads[300];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	threads_start(threads, 300, wait_once, NULL);
	await_rest();
	for (int i = 0; i < 300; i++)
		CHECK_EQ(sem_post(&sem), 0);
	threads_join(threads, 300);
	CHECK_EQ(value_of(&sem), 0);
}

TEST(named)
{
	char name[64];
	sem_t *first, *second;

	snprintf(name, sizeof(name), "/weft-test-%d", (int)getpid());
	first = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	CHECK(first != SEM_FAILED);
	CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED);
	CHECK_EQ(errno, EEXIST);
	second = sem_open(name, 0);
	CHECK(second == first);
	CHECK_EQ(sem_wait(first), 0);
	CHECK_ERRNO(sem_trywait(second), EAGAIN);
	CHECK_EQ(sem_post(second), 0);
	CHECK_EQ(sem_wait(first), 0);
	CHECK_EQ(sem_close(second), 0);
	CHECK_EQ(sem_close(first), 0);
	CHECK_EQ(sem_unlink(name), 0);
	CHECK_ERRNO(sem_unlink(name), ENOENT);
}

/* The poster may free the semaphore as soon as the waiter has returned. */
static void *post_given(void *arg)
{
	CHECK_EQ(sem_post(arg), 0);
	return NULL;
}

TEST(destroy_after_wait)
{
	for (int i = 0; i < 500; i++) {
		sem_t own;
		pthread_t t;

		CHECK_EQ(sem_init(&own, 0, 0), 0);
		t = thread_start(post_given, &own);
		CHECK_EQ(sem_wait(&own), 0);
		CHECK_EQ(sem_destroy(&own), 0);
		thread_join(t);
	}
}
