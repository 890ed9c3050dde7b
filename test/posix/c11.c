/* SPDX-License-Identifier: MIT */
/* C11 <threads.h>. */
#include <stdlib.h>
#include <threads.h>

#include "check.h"
#include "waiting.h"

static mtx_t mutex;
static cnd_t cond;
static tss_t slot;
static once_flag once = ONCE_FLAG_INIT;
static int counter;
static _Atomic int nr_destroyed;

static int return_arg(void *arg)
{
	return (int)(intptr_t)arg;
}

static int exit_with_arg(void *arg)
{
	thrd_exit((int)(intptr_t)arg);
}

static int run(int (*f)(void *), void *arg)
{
	thrd_t t;
	int result = -1;

	CHECK_EQ(thrd_create(&t, f, arg), thrd_success);
	CHECK_EQ(thrd_join(t, &result), thrd_success);
	return result;
}

TEST(results)
{
	for (int i = -50; i < 50; i++) {
		CHECK_EQ(run(return_arg, (void *)(intptr_t)i), i);
		CHECK_EQ(run(exit_with_arg, (void *)(intptr_t)i), i);
	}
}

static int compare_self(void *arg)
{
	return thrd_equal(thrd_current(), *(thrd_t *)arg);
}

TEST(identity)
{
	thrd_t self = thrd_current();

	CHECK(thrd_equal(self, thrd_current()));
	CHECK_EQ(run(compare_self, &self), 0);
}

static int mark(void *arg)
{
	*(_Atomic int *)arg = 1;
	return 0;
}

TEST(detach)
{
	_Atomic int done = 0;
	thrd_t t;

	CHECK_EQ(thrd_create(&t, mark, &done), thrd_success);
	CHECK_EQ(thrd_detach(t), thrd_success);
	while (!done)
		thrd_yield();
}

TEST(sleeping)
{
	struct timespec duration = { 0, 20 * NS_PER_MS };
	int64_t start = now_ns();

	CHECK_EQ(thrd_sleep(&duration, NULL), 0);
	CHECK(elapsed_ms(start) >= 20);
	duration.tv_nsec = -1;
	CHECK(thrd_sleep(&duration, NULL) < 0);
}

static int count(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(mtx_lock(&mutex), thrd_success);
		counter++;
		if (i % 100 == 0)
			thrd_yield();
		CHECK_EQ(mtx_unlock(&mutex), thrd_success);
	}
	return arg != NULL;
}

TEST(mutexes)
{
	static const int types[] = { mtx_plain, mtx_timed,
				     mtx_plain | mtx_recursive,
				     mtx_timed | mtx_recursive };

	for (int type = 0; type < 4; type++) {
		thrd_t threads[20];

		counter = 0;
		CHECK_EQ(mtx_init(&mutex, types[type]), thrd_success);
		for (int i = 0; i < 20; i++)
			CHECK_EQ(thrd_create(&threads[i], count, NULL),
				 thrd_success);
		for (int i = 0; i < 20; i++)
			CHECK_EQ(thrd_join(threads[i], NULL), thrd_success);
		CHECK_EQ(counter, 20000);
		mtx_destroy(&mutex);
	}
}

static int try_it(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);
	int64_t start = now_ns();

	(void)arg;
	CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
	CHECK_EQ(mtx_timedlock(&mutex, &soon), thrd_timedout);
	CHECK(elapsed_ms(start) >= 18);
	return 0;
}

TEST(timed_and_recursive)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(mtx_init(&mutex, mtx_timed | mtx_recursive), thrd_success);
	CHECK_EQ(mtx_lock(&mutex), thrd_success);
	CHECK_EQ(mtx_trylock(&mutex), thrd_success);
	CHECK_EQ(mtx_timedlock(&mutex, &soon), thrd_success);
	CHECK_EQ(run(try_it, NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(mtx_unlock(&mutex), thrd_success);
}

static int consume(void *arg)
{
	int taken = 0;

	(void)arg;
	while (taken < 200) {
		CHECK_EQ(mtx_lock(&mutex), thrd_success);
		while (counter == 0)
			CHECK_EQ(cnd_wait(&cond, &mutex), thrd_success);
		counter--;
		taken++;
		CHECK_EQ(mtx_unlock(&mutex), thrd_success);
	}
	return taken;
}

/* Like libc, weft treats an unknown type as a plain mutex. */
TEST(a_mutex_of_any_other_type_is_plain)
{
	for (int type = 4; type < 8; type++) {
		mtx_t mutex;

		CHECK_EQ(mtx_init(&mutex, type), thrd_success);
		CHECK_EQ(mtx_lock(&mutex), thrd_success);
		CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
		CHECK_EQ(mtx_unlock(&mutex), thrd_success);
		mtx_destroy(&mutex);
	}
}

TEST(condition)
{
	thrd_t threads[10];

	CHECK_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
	CHECK_EQ(cnd_init(&cond), thrd_success);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(thrd_create(&threads[i], consume, NULL), thrd_success);
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(mtx_lock(&mutex), thrd_success);
		counter += 10;
		CHECK_EQ(i % 2 ? cnd_broadcast(&cond) : cnd_signal(&cond),
			 thrd_success);
		CHECK_EQ(mtx_unlock(&mutex), thrd_success);
	}
	CHECK_EQ(cnd_broadcast(&cond), thrd_success);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(thrd_join(threads[i], NULL), thrd_success);
	CHECK_EQ(counter, 0);
	cnd_destroy(&cond);
}

TEST(condition_timed)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);
	int64_t start = now_ns();

	CHECK_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
	CHECK_EQ(cnd_init(&cond), thrd_success);
	CHECK_EQ(mtx_lock(&mutex), thrd_success);
	CHECK_EQ(cnd_timedwait(&cond, &mutex, &soon), thrd_timedout);
	CHECK(elapsed_ms(start) >= 18);
	CHECK_EQ(mtx_trylock(&mutex), thrd_busy);
	CHECK_EQ(mtx_unlock(&mutex), thrd_success);
}

static void destroy(void *value)
{
	nr_destroyed++;
	free(value);
}

static int use_slot(void *arg)
{
	int *value = malloc(sizeof(*value));

	CHECK(tss_get(slot) == NULL);
	*value = (int)(intptr_t)arg;
	CHECK_EQ(tss_set(slot, value), thrd_success);
	thrd_yield();
	return *(int *)tss_get(slot);
}

TEST(thread_specific)
{
	CHECK_EQ(tss_create(&slot, destroy), thrd_success);
	for (int i = 0; i < 100; i++)
		CHECK_EQ(run(use_slot, (void *)(intptr_t)i), i);
	CHECK_EQ(nr_destroyed, 100);
	tss_delete(slot);
}

enum { NR_CALLERS = 100 };

static _Atomic int nr_calling;

/* Runs until all other threads wait for the end of this initialiser. */
static void init(void)
{
	await_count(&nr_calling, NR_CALLERS);
	await_rest();
	counter++;
}

static int call(void *arg)
{
	nr_calling++;
	call_once(&once, init);
	CHECK_EQ(counter, 1);
	return arg != NULL;
}

TEST(once_only)
{
	thrd_t threads[NR_CALLERS];

	for (int i = 0; i < NR_CALLERS; i++)
		CHECK_EQ(thrd_create(&threads[i], call, NULL), thrd_success);
	for (int i = 0; i < NR_CALLERS; i++)
		CHECK_EQ(thrd_join(threads[i], NULL), thrd_success);
}

/* --- cancellation: POSIX has it for them since 2024 ----------------------- */

static void *wait_in_sleep(void *arg)
{
	struct timespec long_time = { 1000, 0 };

	is_ready = 1;
	return outcome(thrd_sleep(&long_time, NULL));
}

static void unlock(void *arg)
{
	CHECK_EQ(mtx_unlock(arg), thrd_success);
}

static void *wait_in_condition(void *is_timed)
{
	struct timespec late = deadline_ms(CLOCK_REALTIME, 1000000);

	CHECK_EQ(mtx_lock(&mutex), thrd_success);
	pthread_cleanup_push(unlock, &mutex);
	is_ready = 1;
	for (;;) {
		if (is_timed != NULL)
			cnd_timedwait(&cond, &mutex, &late);
		else
			cnd_wait(&cond, &mutex);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *wait_in_join(void *sleeper)
{
	is_ready = 1;
	return outcome(thrd_join(*(thrd_t *)sleeper, NULL));
}

TEST(cancellation_points)
{
	thrd_t sleeper = thread_start(wait_in_sleep, NULL);

	CHECK_EQ(mtx_init(&mutex, mtx_plain), thrd_success);
	CHECK_EQ(cnd_init(&cond), thrd_success);
	is_cancelled_in(wait_in_sleep, NULL);
	is_cancelled_in(wait_in_condition, NULL);
	is_cancelled_in(wait_in_condition, &cond);
	is_cancelled_in(wait_in_join, &sleeper);
	CHECK_EQ(mtx_trylock(&mutex), thrd_success);
	CHECK_EQ(pthread_cancel(sleeper), 0);
	CHECK(thread_join(sleeper) == PTHREAD_CANCELED);
}
