/* SPDX-License-Identifier: MIT */
/* src/sched/latency.c, with a queue of known waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/latency.h"

enum { TICK = 1000 };

static void test_empty(void **state)
{
	struct wf_latency w = { 0 };
	int64_t longest = 0;

	for (int i = 0; i < 1000; i++)
		wf_latency_update(&w, 5, 5, i * TICK, &longest);
	assert_int_equal(longest, 0);
}

/* One entry is pushed at tick 3 and popped after tick 10. */
static void test_one(void **state)
{
	static const uint32_t starts[] = { 0, UINT32_MAX, INT32_MAX };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct wf_latency w = { 0 };
		uint32_t first = starts[i];
		int64_t longest = 0;

		for (int tick = 0; tick < 3; tick++)
			wf_latency_update(&w, first, first, tick * TICK,
					  &longest);
		for (int tick = 3; tick <= 10; tick++) {
			wf_latency_update(&w, first, first + 1, tick * TICK,
					  &longest);
			assert_int_equal(longest, (tick - 3) * TICK);
		}
		for (int tick = 11; tick < 100; tick++)
			wf_latency_update(&w, first + 1, first + 1, tick * TICK,
					  &longest);
		assert_int_equal(longest, 8 * TICK);
	}
}

/* Ten entries wait at all times, each for ten ticks. */
static void test_flow(void **state)
{
	struct wf_latency w = { 0 };
	int64_t longest = 0;

	for (uint32_t tick = 0; tick < 1000; tick++)
		wf_latency_update(&w, tick, tick + 10, tick * TICK, &longest);
	assert_int_equal(longest, 10 * TICK);
}

/*
 * The queue stands still for more ticks than there are marks, then it is
 * emptied.
 */
static void test_more_ticks_than_marks(void **state)
{
	struct wf_latency w = { 0 };
	int64_t longest = 0;
	uint32_t tick;

	for (tick = 0; tick < 5 * WF_LATENCY_MARKS; tick++)
		wf_latency_update(&w, 7, 8 + tick, tick * TICK, &longest);
	assert_int_equal(longest, (5 * WF_LATENCY_MARKS - 1) * TICK);
	longest = 0;
	wf_latency_update(&w, 8 + tick, 8 + tick, tick * TICK, &longest);
	assert_int_equal(longest, 5 * WF_LATENCY_MARKS * TICK);
	longest = 0;
	for (; tick < 6 * WF_LATENCY_MARKS; tick++)
		wf_latency_update(&w, 8 + tick, 8 + tick, tick * TICK,
				  &longest);
	assert_int_equal(longest, 0);
}

/* The head position goes back: an entry was pushed in front. */
static void test_put_in_front(void **state)
{
	struct wf_latency w = { 0 };
	int64_t longest = 0;

	wf_latency_update(&w, 5, 6, 0, &longest);
	wf_latency_update(&w, 4, 6, TICK, &longest);
	wf_latency_update(&w, 5, 6, 2 * TICK, &longest);
	assert_int_equal(longest, 2 * TICK);
	wf_latency_update(&w, 6, 6, 3 * TICK, &longest);
	wf_latency_update(&w, 6, 6, 9 * TICK, &longest);
	assert_int_equal(longest, 3 * TICK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_flow),
		cmocka_unit_test(test_more_ticks_than_marks),
		cmocka_unit_test(test_put_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
