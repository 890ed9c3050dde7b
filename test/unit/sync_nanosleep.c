/* SPDX-License-Identifier: MIT */
/*
 * src/sync/nanosleep.c: invalid times, the time that is left, sleeps of the
 * past.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "sync/nanosleep.h"

static int nr_let_others;

bool wf_sched_let_others(void)
{
	nr_let_others++;
	return true;
}

static void test_malformed(void **state)
{
	struct timespec bad[] = { { 0, -1 }, { 0, 1000000000 }, { -1, 0 } };

	for (int i = 0; i < 3; i++) {
		assert_int_equal(wf_nanosleep(&bad[i], NULL), -EINVAL);
		assert_int_equal(wf_nanosleep_until(CLOCK_REALTIME, &bad[i]),
				 -EINVAL);
	}
	assert_int_equal(wf_nanosleep_until(CLOCK_TAI, &(struct timespec){ 0 }),
			 -EINVAL);
}

/* A sleep of 0 parks, so the VP may run other threads or sleep. */
static void test_zero_parks(void **state)
{
	uint64_t calls = fake_calls();

	assert_int_equal(wf_nanosleep(&(struct timespec){ 0 }, NULL), 0);
	assert_true(fake_calls() > calls);
}

/*
 * The kernel gives real-time threads no timer slack, so a sleep of 0 returns.
 */
static void test_zero_of_realtime(void **state)
{
	uint64_t calls = fake_calls();

	wf_thread_self()->rt_priority = 1;
	assert_int_equal(wf_nanosleep(&(struct timespec){ 0 }, NULL), 0);
	wf_thread_self()->rt_priority = 0;
	assert_int_equal(fake_calls(), calls);
}

static void test_past_deadline(void **state)
{
	uint64_t calls = fake_calls();
	struct timespec past = { 1, 0 };

	nr_let_others = 0;
	assert_int_equal(wf_nanosleep_until(CLOCK_REALTIME, &past), 0);
	assert_int_equal(wf_nanosleep_until(CLOCK_MONOTONIC,
					    &(struct timespec){ 0 }),
			 0);
	assert_int_equal(fake_calls(), calls);
	assert_int_equal(nr_let_others, 2);
}

static void test_duration(void **state)
{
	struct timespec ts = { .tv_nsec = 3 * WF_NS_PER_MS };
	int64_t start = wf_os_now();

	assert_int_equal(wf_nanosleep(&ts, NULL), 0);
	assert_true(wf_os_now() - start >= 3 * WF_NS_PER_MS);
	ts = fake_time(CLOCK_REALTIME, 3 * WF_NS_PER_MS);
	assert_int_equal(wf_nanosleep_until(CLOCK_REALTIME, &ts), 0);
	assert_true(wf_os_clock(CLOCK_REALTIME) >=
		    ts.tv_sec * WF_NS_PER_S + ts.tv_nsec - WF_NS_PER_US);
}

static void test_interrupted(void **state)
{
	struct timespec ts = { .tv_sec = 10, .tv_nsec = 5 };

	fake_interrupt_every = 1;
	assert_int_equal(wf_nanosleep(&ts, &ts), -EINTR);
	assert_true(ts.tv_sec == 9 || (ts.tv_sec == 10 && ts.tv_nsec <= 5));
	assert_int_equal(wf_nanosleep(&ts, NULL), -EINTR);
	ts = fake_time(CLOCK_MONOTONIC, WF_NS_PER_S);
	assert_int_equal(wf_nanosleep_until(CLOCK_MONOTONIC, &ts), -EINTR);
	fake_interrupt_every = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_zero_parks),
		cmocka_unit_test(test_zero_of_realtime),
		cmocka_unit_test(test_past_deadline),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
