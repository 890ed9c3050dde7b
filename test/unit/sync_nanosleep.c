/* src/sync/nanosleep.c: validity, what is left, past deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "fake_wait.h"
#include "os/clock.h"
#include "sync/nanosleep.h"

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

static void test_no_wait(void **state)
{
	uint64_t calls = fake_calls();
	struct timespec past = { 1, 0 };

	assert_int_equal(wf_nanosleep(&(struct timespec){ 0 }, NULL), 0);
	assert_int_equal(wf_nanosleep_until(CLOCK_REALTIME, &past), 0);
	assert_int_equal(wf_nanosleep_until(CLOCK_MONOTONIC,
					    &(struct timespec){ 0 }),
			 0);
	assert_int_equal(fake_calls(), calls);
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
		cmocka_unit_test(test_no_wait),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
