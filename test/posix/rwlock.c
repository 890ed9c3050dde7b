/* SPDX-License-Identifier: MIT */
/* Read-write locks: all forms, both preferences, every error. */
#include <sys/mman.h>

#include "check.h"
#include "threading.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_read(void *arg)
{
	int err = pthread_rwlock_tryrdlock(arg);

	if (err == 0)
		CHECK_EQ(pthread_rwlock_unlock(arg), 0);
	return (void *)(intptr_t)err;
}

static void *try_write(void *arg)
{
	int err = pthread_rwlock_trywrlock(arg);

	if (err == 0)
		CHECK_EQ(pthread_rwlock_unlock(arg), 0);
	return (void *)(intptr_t)err;
}

static int elsewhere(void *(*f)(void *), pthread_rwlock_t *l)
{
	return (int)(intptr_t)thread_join(thread_start(f, l));
}

static void init_kind(pthread_rwlock_t *l, int kind)
{
	pthread_rwlockattr_t attr;
	int got;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(&attr, kind), 0);
	CHECK_EQ(pthread_rwlockattr_getkind_np(&attr, &got), 0);
	CHECK_EQ(got, kind);
	CHECK_EQ(pthread_rwlock_init(l, &attr), 0);
	CHECK_EQ(pthread_rwlockattr_destroy(&attr), 0);
}

static void check_any_kind(pthread_rwlock_t *l)
{
	CHECK_EQ(pthread_rwlock_rdlock(l), 0);
	CHECK_EQ(pthread_rwlock_rdlock(l), 0);
	CHECK_EQ(elsewhere(try_read, l), 0);
	CHECK_EQ(elsewhere(try_write, l), EBUSY);
	CHECK_EQ(pthread_rwlock_unlock(l), 0);
	CHECK_EQ(elsewhere(try_write, l), EBUSY);
	CHECK_EQ(pthread_rwlock_unlock(l), 0);
	CHECK_EQ(elsewhere(try_write, l), 0);
	CHECK_EQ(pthread_rwlock_wrlock(l), 0);
	CHECK_EQ(elsewhere(try_read, l), EBUSY);
	CHECK_EQ(elsewhere(try_write, l), EBUSY);
	CHECK_EQ(pthread_rwlock_tryrdlock(l), EBUSY);
	CHECK_EQ(pthread_rwlock_trywrlock(l), EBUSY);
	CHECK_EQ(pthread_rwlock_unlock(l), 0);
	CHECK_EQ(pthread_rwlock_destroy(l), 0);
}

static const int kinds[] = {
	PTHREAD_RWLOCK_PREFER_READER_NP,
	PTHREAD_RWLOCK_PREFER_WRITER_NP,
	PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP,
};

TEST(every_kind)
{
	pthread_rwlockattr_t attr;
	pthread_rwlock_t l;

	for (int i = 0; i < 3; i++) {
		init_kind(&l, kinds[i]);
		check_any_kind(&l);
	}
	check_any_kind(&lock);
	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setkind_np(&attr, 99), EINVAL);
	CHECK_EQ(pthread_rwlockattr_setpshared(&attr, 99), EINVAL);
}

TEST(static_writer_initialiser)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

	check_any_kind(&l);
}

TEST(relock_of_writer_is_deadlock)
{
	struct timespec later = deadline_ms(CLOCK_REALTIME, 10000);

	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&lock), EDEADLK);
	CHECK_EQ(pthread_rwlock_rdlock(&lock), EDEADLK);
	CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &later), EDEADLK);
	CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &later), EDEADLK);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
}

static void *time_out_on_writer(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);
	int64_t start = now_ns();

	(void)arg;
	CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 18);
	CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
	soon = deadline_ms(CLOCK_MONOTONIC, 20);
	start = now_ns();
	CHECK_EQ(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 19);
	soon = deadline_ms(CLOCK_MONOTONIC, 20);
	CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon),
		 ETIMEDOUT);
	soon = deadline_ms(CLOCK_REALTIME, 1000);
	soon.tv_nsec = NS_PER_S;
	CHECK_EQ(pthread_rwlock_timedrdlock(&lock, &soon), EINVAL);
	CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &soon), EINVAL);
	CHECK_EQ(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID,
					    &soon),
		 EINVAL);
	return NULL;
}

TEST(timed_forms)
{
	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	thread_join(thread_start(time_out_on_writer, NULL));
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	check_any_kind(&lock);
}

static void *time_out_as_writer(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
	return arg;
}

/* A writer that gave up must leave the lock unchanged. */
TEST(timed_writer_behind_reader)
{
	for (int i = 0; i < 3; i++) {
		init_kind(&lock, kinds[i]);
		CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
		thread_join(thread_start(time_out_as_writer, NULL));
		CHECK_EQ(elsewhere(try_read, &lock), 0);
		CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
		check_any_kind(&lock);
	}
}

static _Atomic int stage;

static void *blocked_writer(void *arg)
{
	stage = 1;
	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	stage = 2;
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	return arg;
}

/* Kind 0 lets readers pass a waiting writer, kind 2 does not. */
static int reader_beside_writer(int kind)
{
	pthread_t writer;
	int err;

	init_kind(&lock, kind);
	stage = 0;
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	writer = thread_start(blocked_writer, NULL);
	while (stage == 0)
		sched_yield();
	await_rest();
	err = elsewhere(try_read, &lock);
	CHECK_EQ(stage, 1);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	thread_join(writer);
	return err;
}

TEST(reader_preference)
{
	CHECK_EQ(reader_beside_writer(PTHREAD_RWLOCK_PREFER_READER_NP), 0);
}

TEST(writer_preference)
{
	CHECK_EQ(reader_beside_writer(
			 PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP),
		 EBUSY);
}

static long pair[2];
static _Atomic int nr_readers_max;
static _Atomic int nr_readers;

static void *mixed(void *arg)
{
	unsigned int random = (unsigned int)(intptr_t)arg;

	for (int i = 0; i < 200; i++) {
		random = random * 1103515245 + 12345;
		if (random >> 16 & 3) {
			CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
			if (++nr_readers > nr_readers_max)
				nr_readers_max = nr_readers;
			CHECK_EQ(pair[0], pair[1]);
			sched_yield();
			CHECK_EQ(pair[0], pair[1]);
			nr_readers--;
		} else {
			CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
			CHECK_EQ(nr_readers, 0);
			pair[0]++;
			sched_yield();
			pair[1]++;
		}
		CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	}
	return NULL;
}

TEST(readers_and_writers)
{
	for (int i = 0; i < 3; i++) {
		pthread_t threads[40];

		init_kind(&lock, kinds[i]);
		threads_start_numbered(threads, 40, mixed);
		threads_join(threads, 40);
		CHECK_EQ(pair[0], pair[1]);
		CHECK_EQ(pthread_rwlock_destroy(&lock), 0);
	}
	CHECK(nr_readers_max > 1);
}

/* POSIX allows it, and programs destroy locks that they failed to make. */
TEST(destroy_does_not_look)
{
	void *page =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	CHECK_EQ(pthread_rwlock_destroy(page), 0);
}

static pthread_barrier_t all_in;

static void *read_together(void *arg)
{
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	pthread_barrier_wait(&all_in);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	return arg;
}

TEST(hundred_readers_at_once)
{
	pthread_t threads[100];

	CHECK_EQ(pthread_barrier_init(&all_in, NULL, 100), 0);
	threads_start(threads, 100, read_together, NULL);
	threads_join(threads, 100);
	CHECK_EQ(elsewhere(try_write, &lock), 0);
}
