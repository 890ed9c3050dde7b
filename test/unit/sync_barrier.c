/* SPDX-License-Identifier: MIT */
/*
 * src/sync/barrier.c: rounds, one serial thread, destruction right after a
 * wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_wait.h"
#include "sync/barrier.h"

static void test_results(void **state)
{
	struct wf_barrier b;

	assert_int_equal(wf_barrier_init(&b, 0), -EINVAL);
	assert_int_equal(wf_barrier_init(&b, UINT_MAX), -EINVAL);
	assert_int_equal(wf_barrier_init(&b, 1), 0);
	assert_false(wf_barrier_is_shared(&b));
	for (int i = 0; i < 10; i++)
		assert_int_equal(wf_barrier_wait(&b), WF_BARRIER_SERIAL);
	assert_int_equal(wf_barrier_fini(&b), 0);
}

static void test_libc_layout(void **state)
{
	struct wf_barrier b = { 0 };
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&b.libc, &attr, 3); /* as libc makes it */
	assert_true(wf_barrier_is_shared(&b));
	pthread_barrier_init(&b.libc, NULL, 3);
	assert_false(wf_barrier_is_shared(&b));
}

enum { THREADS = 5, ROUNDS = 2000 };

struct rounds {
	struct wf_barrier b;
	_Atomic int nr_left;
	_Atomic int arrived[ROUNDS];
	_Atomic int nr_serial[ROUNDS];
};

static void run_rounds(void *arg, int number)
{
	struct rounds *r = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int rc;

		fake_delay();
		r->arrived[i]++;
		rc = wf_barrier_wait(&r->b);
		fake_check(rc == 0 || rc == WF_BARRIER_SERIAL);
		fake_check(r->arrived[i] == THREADS);
		if (rc == WF_BARRIER_SERIAL)
			r->nr_serial[i]++;
	}
}

static void test_rounds(void **state)
{
	static struct rounds r;

	wf_barrier_init(&r.b, THREADS);
	fake_run(THREADS, run_rounds, &r);
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(r.nr_serial[i], 1);
	assert_int_equal(wf_barrier_fini(&r.b), 0);
}

/* Twice as many threads as the barrier lets pass at a time. */
static void pass(void *arg, int number)
{
	struct rounds *r = arg;

	while (atomic_fetch_sub(&r->nr_left, 1) > 0)
		if (wf_barrier_wait(&r->b) == WF_BARRIER_SERIAL)
			r->nr_serial[0]++;
}

static void test_more_threads_than_count(void **state)
{
	static struct rounds r;

	wf_barrier_init(&r.b, 2);
	r.nr_left = 4000;
	fake_run(4, pass, &r);
	assert_int_equal(r.nr_serial[0], 4000 / 2);
	assert_int_equal(wf_barrier_fini(&r.b), 0);
}

static void wait_and_destroy(void *arg, int number)
{
	struct wf_barrier *b = arg;

	fake_delay();
	if (wf_barrier_wait(b) == WF_BARRIER_SERIAL) {
		fake_check(wf_barrier_fini(b) == 0);
		fake_page_free(b);
	}
}

static void test_destroy_at_once(void **state)
{
	for (int i = 0; i < 2000; i++) {
		struct wf_barrier *b = fake_page();

		wf_barrier_init(b, 4);
		fake_run(4, wait_and_destroy, b);
	}
}

static void wait_for_it(void *arg, int number)
{
	wf_barrier_wait(arg);
}

static void test_busy(void **state)
{
	struct wf_barrier b;
	struct fake_crew *crew;

	wf_barrier_init(&b, 2);
	crew = fake_start(1, wait_for_it, &b);
	fake_await_waiters(&b.round, 1);
	assert_int_equal(wf_barrier_fini(&b), -EBUSY);
	wf_barrier_wait(&b);
	assert_int_equal(wf_barrier_fini(&b), 0);
	fake_join(crew);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_libc_layout),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_more_threads_than_count),
		cmocka_unit_test(test_destroy_at_once),
		cmocka_unit_test(test_busy),
	};

	fake_seed();
	fake_interrupt_every = 10;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
