/* SPDX-License-Identifier: MIT */
/* Mutexes of every type, by attribute and by static initialiser, with every
 * error; contention and fairness. */
#include <semaphore.h>

#include "check.h"
#include "threading.h"

static const int types[] = {
	PTHREAD_MUTEX_NORMAL,
	PTHREAD_MUTEX_RECURSIVE,
	PTHREAD_MUTEX_ERRORCHECK,
	PTHREAD_MUTEX_ADAPTIVE_NP,
};

#define NR_TYPES ((int)(sizeof(types) / sizeof(types[0])))

static void init(pthread_mutex_t *m, int type, int protocol)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, type), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	CHECK_EQ(pthread_mutex_init(m, &attr), 0);
	CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
}

static void init_type(pthread_mutex_t *m, int type)
{
	init(m, type, PTHREAD_PRIO_NONE);
}

static void *trylock(void *arg)
{
	return (void *)(intptr_t)pthread_mutex_trylock(arg);
}

static void *unlock(void *arg)
{
	return (void *)(intptr_t)pthread_mutex_unlock(arg);
}

/* Returns the result of `f` in another thread. */
static int elsewhere(void *(*f)(void *), pthread_mutex_t *m)
{
	return (int)(intptr_t)thread_join(thread_start(f, m));
}

static void *lock_and_unlock(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(arg), 0);
	CHECK_EQ(pthread_mutex_unlock(arg), 0);
	return NULL;
}

/* Checks the rules that hold for all types. */
static void check_any_type(pthread_mutex_t *m)
{
	pthread_t waiter;

	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(elsewhere(trylock, m), EBUSY);
	CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
	waiter = thread_start(lock_and_unlock, m);
	await_rest();
	CHECK_EQ(pthread_tryjoin_np(waiter, NULL), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	thread_join(waiter);
	CHECK_EQ(pthread_mutex_trylock(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	CHECK_EQ(pthread_mutex_destroy(m), 0);
}

TEST(every_type)
{
	for (int i = 0; i < NR_TYPES; i++) {
		pthread_mutex_t m;

		init_type(&m, types[i]);
		check_any_type(&m);
	}
}

TEST(static_initialisers)
{
	pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

	check_any_type(&normal);
	check_any_type(&recursive);
	check_any_type(&errorcheck);
	check_any_type(&adaptive);
}

TEST(zeroed_memory_is_a_mutex)
{
	static pthread_mutex_t zero;

	check_any_type(&zero);
}

TEST(normal_relock)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(pthread_mutex_lock(&m), 0);
	CHECK_EQ(pthread_mutex_trylock(&m), EBUSY);
	CHECK_EQ(pthread_mutex_timedlock(&m, &soon), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_unlock(&m), 0);
}

static void check_recursive(pthread_mutex_t *m)
{
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(i % 2 ? pthread_mutex_lock(m) :
				 pthread_mutex_trylock(m),
			 0);
	for (int i = 0; i < 1000; i++) {
		if (i % 100 == 0)
			CHECK_EQ(elsewhere(trylock, m), EBUSY);
		CHECK_EQ(pthread_mutex_unlock(m), 0);
	}
	CHECK_EQ(pthread_mutex_unlock(m), EPERM);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(elsewhere(unlock, m), EPERM);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
}

TEST(recursive_counts)
{
	pthread_mutex_t given = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pthread_mutex_t made;

	check_recursive(&given);
	init_type(&made, PTHREAD_MUTEX_RECURSIVE);
	check_recursive(&made);
}

TEST(recursive_timed)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	struct timespec past = deadline_ms(CLOCK_REALTIME, -1000);

	CHECK_EQ(pthread_mutex_timedlock(&m, &past), 0);
	CHECK_EQ(pthread_mutex_timedlock(&m, &past), 0);
	CHECK_EQ(pthread_mutex_unlock(&m), 0);
	CHECK_EQ(pthread_mutex_unlock(&m), 0);
	CHECK_EQ(pthread_mutex_unlock(&m), EPERM);
}

static void check_errorcheck(pthread_mutex_t *m)
{
	struct timespec later = deadline_ms(CLOCK_REALTIME, 10000);

	CHECK_EQ(pthread_mutex_unlock(m), EPERM);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
	CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
	CHECK_EQ(pthread_mutex_timedlock(m, &later), EDEADLK);
	CHECK_EQ(elsewhere(unlock, m), EPERM);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), EPERM);
}

TEST(errorcheck)
{
	pthread_mutex_t given = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_mutex_t made;

	check_errorcheck(&given);
	init_type(&made, PTHREAD_MUTEX_ERRORCHECK);
	check_errorcheck(&made);
}

static void *timed_waiter(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 30);
	int64_t start = now_ns();

	CHECK_EQ(pthread_mutex_timedlock(arg, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 28);
	soon = deadline_ms(CLOCK_MONOTONIC, 30);
	start = now_ns();
	CHECK_EQ(pthread_mutex_clocklock(arg, CLOCK_MONOTONIC, &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 30);
	soon = deadline_ms(CLOCK_REALTIME, 5);
	CHECK_EQ(pthread_mutex_clocklock(arg, CLOCK_REALTIME, &soon),
		 ETIMEDOUT);
	soon = deadline_ms(CLOCK_REALTIME, -5000);
	CHECK_EQ(pthread_mutex_timedlock(arg, &soon), ETIMEDOUT);
	return NULL;
}

TEST(timed_lock_times_out)
{
	for (int i = 0; i < NR_TYPES; i++) {
		pthread_mutex_t m;

		init_type(&m, types[i]);
		CHECK_EQ(pthread_mutex_lock(&m), 0);
		thread_join(thread_start(timed_waiter, &m));
		CHECK_EQ(pthread_mutex_unlock(&m), 0);
		check_any_type(&m);
	}
}

static void *timed_getter(void *arg)
{
	struct timespec later = deadline_ms(CLOCK_MONOTONIC, 10000);

	CHECK_EQ(pthread_mutex_clocklock(arg, CLOCK_MONOTONIC, &later), 0);
	CHECK_EQ(pthread_mutex_unlock(arg), 0);
	return NULL;
}

TEST(timed_lock_gets_it)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_t t;

	CHECK_EQ(pthread_mutex_lock(&m), 0);
	t = thread_start(timed_getter, &m);
	await_rest();
	CHECK_EQ(pthread_mutex_unlock(&m), 0);
	thread_join(t);
}

static void *bad_deadlines(void *arg)
{
	struct timespec ts = deadline_ms(CLOCK_REALTIME, 1000);

	ts.tv_nsec = NS_PER_S;
	CHECK_EQ(pthread_mutex_timedlock(arg, &ts), EINVAL);
	ts.tv_nsec = -1;
	CHECK_EQ(pthread_mutex_timedlock(arg, &ts), EINVAL);
	ts = deadline_ms(CLOCK_MONOTONIC, 1000);
	CHECK_EQ(pthread_mutex_clocklock(arg, CLOCK_PROCESS_CPUTIME_ID, &ts),
		 EINVAL);
	return NULL;
}

/* POSIX: a free lock is taken without a check of the deadline. */
TEST(bad_deadline)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec bad = { 0, -1 };

	CHECK_EQ(pthread_mutex_timedlock(&m, &bad), 0);
	thread_join(thread_start(bad_deadlines, &m));
	CHECK_EQ(pthread_mutex_unlock(&m), 0);
}

TEST(attributes)
{
	pthread_mutexattr_t attr;
	int value;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_gettype(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_MUTEX_DEFAULT);
	CHECK_EQ(pthread_mutexattr_settype(&attr, 12345), EINVAL);
	CHECK_EQ(pthread_mutexattr_getpshared(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_PROCESS_PRIVATE);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, 77), EINVAL);
	CHECK_EQ(pthread_mutexattr_getrobust(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_MUTEX_STALLED);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, 77), EINVAL);
	CHECK_EQ(pthread_mutexattr_getprotocol(&attr, &value), 0);
	CHECK_EQ(value, PTHREAD_PRIO_NONE);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, 77), EINVAL);
	CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
}

#define NR_THREADS 64
#define NR_ROUNDS 500

static pthread_mutex_t shared;
static long counter;

static void *count(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		long seen;

		CHECK_EQ(pthread_mutex_lock(&shared), 0);
		seen = counter;
		if (i % 50 == 0)
			sched_yield();
		counter = seen + 1;
		CHECK_EQ(pthread_mutex_unlock(&shared), 0);
	}
	return arg;
}

TEST(counting_under_contention)
{
	for (int i = 0; i < NR_TYPES; i++) {
		pthread_t threads[NR_THREADS];

		init_type(&shared, types[i]);
		counter = 0;
		threads_start(threads, NR_THREADS, count, NULL);
		threads_join(threads, NR_THREADS);
		CHECK_EQ(counter, NR_THREADS * NR_ROUNDS);
		CHECK_EQ(pthread_mutex_destroy(&shared), 0);
	}
}

/*
 * The owner of a recursive mutex is the thread. It stays the owner across
 * sleeps and yields, whichever carrier it runs on.
 */
static void *own_across_waits(void *arg)
{
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(pthread_mutex_lock(&shared), 0);
		sched_yield();
		if (i % 5 == 0)
			sleep_ms(1);
		CHECK_EQ(pthread_mutex_lock(&shared), 0);
		counter++;
		CHECK_EQ(pthread_mutex_unlock(&shared), 0);
		sched_yield();
		CHECK_EQ(pthread_mutex_unlock(&shared), 0);
	}
	return arg;
}

TEST(owner_is_the_thread)
{
	pthread_t threads[20];

	init_type(&shared, PTHREAD_MUTEX_RECURSIVE);
	counter = 0;
	threads_start(threads, 20, own_across_waits, NULL);
	threads_join(threads, 20);
	CHECK_EQ(counter, 400);
}

static void *lock_again(void *arg)
{
	pthread_mutex_t recursive, checks;

	init(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT);
	init(&checks, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_mutex_lock(&recursive), 0);
	CHECK_EQ(pthread_mutex_trylock(&recursive), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), EPERM);
	CHECK_EQ(pthread_mutex_lock(&checks), 0);
	CHECK_EQ(pthread_mutex_lock(&checks), EDEADLK);
	/* libc returns EDEADLK here, too */
	CHECK_EQ(pthread_mutex_trylock(&checks), EDEADLK);
	CHECK_EQ(pthread_mutex_destroy(&checks), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&checks), 0);
	CHECK_EQ(pthread_mutex_unlock(&checks), EPERM);
	return NULL;
}

TEST(types_with_priority_inheritance)
{
	lock_again(NULL);
	thread_join(thread_start(lock_again, NULL));
}

static void *use_destroyed(void *arg)
{
	const struct timespec past = { 0 };
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t m;

	/* Also kinds that do not exist. */
	for (int kind = 0; kind < 16; kind += kind == 0 ? 4 : 1) {
		CHECK_EQ(pthread_mutex_init(&m, NULL), 0);
		if (kind == 0)
			CHECK_EQ(pthread_mutex_destroy(&m), 0);
		else
			m.__data.__kind = kind;
		CHECK_EQ(pthread_mutex_lock(&m), EINVAL);
		CHECK_EQ(pthread_mutex_timedlock(&m, &past), EINVAL);
		CHECK_EQ(pthread_mutex_trylock(&m), EINVAL);
		CHECK_EQ(pthread_cond_wait(&c, &m), EINVAL);
		CHECK_EQ(pthread_mutex_unlock(&m), EINVAL);
		CHECK_EQ(pthread_mutex_destroy(&m), 0);
	}
	return NULL;
}

/* POSIX does not define the use of a destroyed mutex; weft does as libc. */
TEST(destroyed)
{
	use_destroyed(NULL);
	thread_join(thread_start(use_destroyed, NULL));
	use_destroyed(NULL);
}
