/* SPDX-License-Identifier: MIT */
/* pthread_create, pthread_join and its relatives, pthread_detach. */
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static sem_t go;
static sem_t done;

static void *echo(void *arg)
{
	return arg;
}

static void *wait_for_go(void *arg)
{
	while (sem_wait(&go) != 0)
		CHECK_EQ(errno, EINTR);
	return arg;
}

TEST(result_is_passed)
{
	for (intptr_t i = 0; i < 100; i++)
		CHECK(thread_join(thread_start(echo, (void *)i)) == (void *)i);
}

TEST(join_result_may_be_ignored)
{
	CHECK_EQ(pthread_join(thread_start(echo, NULL), NULL), 0);
}

TEST(all_at_once)
{
	pthread_t threads[500];

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	threads_start_numbered(threads, 500, wait_for_go);
	for (int i = 0; i < 500; i++)
		CHECK_EQ(sem_post(&go), 0);
	for (intptr_t i = 499; i >= 0; i--)
		CHECK(thread_join(threads[i]) == (void *)i);
}

TEST(join_self_is_deadlock)
{
	CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
}

static void *join_self_detached(void *arg)
{
	CHECK_EQ(pthread_tryjoin_np(pthread_self(), NULL), EBUSY);
	CHECK_EQ(pthread_detach(pthread_self()), 0);
	CHECK_EQ(pthread_join(pthread_self(), NULL), EINVAL);
	CHECK_EQ(sem_post(&go), 0);
	return arg;
}

TEST(join_self_that_is_detached)
{
	CHECK_EQ(sem_init(&go, 0, 0), 0);
	CHECK_EQ(pthread_tryjoin_np(pthread_self(), NULL), EBUSY);
	thread_start(join_self_detached, NULL);
	CHECK_EQ(sem_wait(&go), 0);
}

TEST(try_join)
{
	pthread_t t;
	void *result = &go;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, &done);
	CHECK_EQ(pthread_tryjoin_np(t, &result), EBUSY);
	CHECK(result == &go);
	CHECK_EQ(sem_post(&go), 0);
	while (pthread_tryjoin_np(t, &result) == EBUSY)
		sched_yield();
	CHECK(result == &done);
}

TEST(timed_join)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 50);
	struct timespec later = deadline_ms(CLOCK_REALTIME, 10000);
	int64_t start = now_ns();
	void *result = &go;
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, &done);
	CHECK_EQ(pthread_timedjoin_np(t, &result, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 48);
	CHECK(result == &go);
	CHECK_EQ(pthread_timedjoin_np(t, &result, &soon), ETIMEDOUT);
	CHECK_EQ(sem_post(&go), 0);
	CHECK_EQ(pthread_timedjoin_np(t, &result, &later), 0);
	CHECK(result == &done);
}

TEST(clock_join)
{
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 30);
	struct timespec later = deadline_ms(CLOCK_MONOTONIC, 10000);
	int64_t start = now_ns();
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, &done);
	CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 30);
	soon = deadline_ms(CLOCK_REALTIME, 10);
	CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_REALTIME, &soon),
		 ETIMEDOUT);
	CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_BOOTTIME, &later), EINVAL);
	CHECK_EQ(sem_post(&go), 0);
	CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &later), 0);
}

static void *join_itself(void *arg)
{
	struct timespec later = deadline_ms(CLOCK_REALTIME, 10000);

	CHECK_EQ(pthread_timedjoin_np(pthread_self(), NULL, &later), EDEADLK);
	return arg;
}

TEST(timed_join_of_itself)
{
	join_itself(NULL);
	thread_join(thread_start(join_itself, NULL));
}

/*
 * A join that does not wait accepts an invalid time; ESRCH shows that the
 * thread has ended.
 */
TEST(timed_join_of_an_ended_thread)
{
	static const struct timespec bad = { .tv_nsec = 1000000000 };
	const struct timespec *times[] = { &bad, (void *)8 };

	for (int i = 0; i < 200; i++) {
		const struct timespec *time = times[i % 2];
		pthread_t t = thread_start(thread_nothing, NULL);

		while (pthread_sigqueue(t, 0, (union sigval){ 0 }) != ESRCH)
			sched_yield();
		CHECK_EQ(pthread_clockjoin_np(t, NULL, CLOCK_TAI, time),
			 EINVAL);
		CHECK_EQ(pthread_timedjoin_np(t, NULL, time), 0);
	}
}

/* The thread stays joinable after a join that timed out. */
TEST(detach_after_timed_out_join)
{
	struct timespec past = deadline_ms(CLOCK_REALTIME, -1000);
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, NULL);
	CHECK_EQ(pthread_timedjoin_np(t, NULL, &past), ETIMEDOUT);
	CHECK_EQ(pthread_detach(t), 0);
	CHECK_EQ(sem_post(&go), 0);
}

static _Atomic int is_joining;

static void *post_done(void *arg)
{
	while (sem_wait(&go) != 0)
		continue;
	CHECK_EQ(sem_post(&done), 0);
	return arg;
}

TEST(detached_cannot_be_joined)
{
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	t = thread_start(post_done, NULL);
	CHECK_EQ(pthread_detach(t), 0);
	CHECK_EQ(pthread_detach(t), EINVAL);
	CHECK_EQ(pthread_join(t, NULL), EINVAL);
	CHECK_EQ(sem_post(&go), 0);
	CHECK_EQ(sem_wait(&done), 0);
}

static void *join_it(void *thread)
{
	is_joining = 1;
	return (void *)(intptr_t)pthread_join(*(pthread_t *)thread, NULL);
}

/*
 * The join fails as it does without a detach; on a busy machine the detach may
 * come before the join.
 */
TEST(detach_of_thread_that_is_joined)
{
	pthread_t t, joiner;
	intptr_t rc;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, NULL);
	joiner = thread_start(join_it, &t);
	let_it_wait(&is_joining);
	CHECK_EQ(pthread_detach(t), 0);
	CHECK_EQ(sem_post(&go), 0);
	rc = (intptr_t)thread_join(joiner);
	CHECK(rc == 0 || rc == EINVAL);
}

TEST(detach_of_ended_thread)
{
	for (int i = 0; i < 200; i++) {
		pthread_t t = thread_start(echo, NULL);

		if (i % 2)
			sched_yield();
		CHECK_EQ(pthread_detach(t), 0);
	}
}

static void *detach_self(void *arg)
{
	CHECK_EQ(pthread_detach(pthread_self()), 0);
	CHECK_EQ(sem_post(&done), 0);
	return arg;
}

TEST(detach_self_many)
{
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	for (int i = 0; i < 300; i++)
		thread_start(detach_self, NULL);
	for (int i = 0; i < 300; i++)
		CHECK_EQ(sem_wait(&done), 0);
}

/* A thread may end at any depth of calls, with any value. */
static void (*volatile leave)(void *) = pthread_exit;

static void exit_deeply(int depth, void *value)
{
	if (depth > 0)
		exit_deeply(depth - 1, value);
	else
		leave(value);
}

static void *exit_from_below(void *arg)
{
	exit_deeply(20, arg);
	return NULL;
}

static void *exit_canceled(void *arg)
{
	(void)arg;
	pthread_exit(PTHREAD_CANCELED);
}

TEST(exit_value)
{
	CHECK(thread_join(thread_start(exit_from_below, &go)) == &go);
	CHECK(thread_join(thread_start(exit_canceled, NULL)) ==
	      PTHREAD_CANCELED);
}

static void *self_of(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	return NULL;
}

TEST(self_is_what_create_returned)
{
	pthread_t seen[50], created[50];

	for (int i = 0; i < 50; i++)
		created[i] = thread_start(self_of, &seen[i]);
	for (int i = 0; i < 50; i++) {
		thread_join(created[i]);
		CHECK(pthread_equal(created[i], seen[i]));
		CHECK(!pthread_equal(created[i], pthread_self()));
	}
}

/* Each thread makes two more and joins them: 255 threads in all. */
static void *tree(void *arg)
{
	intptr_t depth = (intptr_t)arg;
	intptr_t sum = 1;
	pthread_t kids[2];

	if (depth == 0)
		return (void *)sum;
	for (int i = 0; i < 2; i++)
		kids[i] = thread_start(tree, (void *)(depth - 1));
	for (int i = 0; i < 2; i++)
		sum += (intptr_t)thread_join(kids[i]);
	return (void *)sum;
}

TEST(tree_of_threads)
{
	CHECK_EQ((intptr_t)tree((void *)(intptr_t)7), 255);
}

/*
 * pthread_create(3): the new pthread_t is stored before any thread that the new
 * thread informs can use it. The new thread sees earlier writes of its creator.
 */
static int plain;

static void *see_plain(void *arg)
{
	CHECK_EQ(plain, (intptr_t)arg);
	plain++;
	return NULL;
}

TEST(create_and_join_order_memory)
{
	for (intptr_t i = 0; i < 2000; i += 2) {
		plain = (int)i;
		thread_join(thread_start(see_plain, (void *)i));
		CHECK_EQ(plain, i + 1);
	}
}
