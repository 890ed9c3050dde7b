/* SPDX-License-Identifier: MIT */
/* src/sched/spin_budget.c: the spin budget follows the idle times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched/spin_budget.h"

enum { WORTH = 50000 };

static void idle_times(struct wf_spin_budget *b, int nr, int64_t ns)
{
	for (int i = 0; i < nr; i++) {
		wf_spin_budget_begin(b);
		wf_spin_budget_end(b, ns, WORTH);
	}
}

static void polls_not_before_it_is_known_to_pay(void **state)
{
	struct wf_spin_budget b = { 0 };

	assert_int_equal(wf_spin_budget_begin(&b), 0);
	idle_times(&b, 10, WORTH + 1);
	assert_int_equal(wf_spin_budget_begin(&b), 0);
}

static void grows_to_cover_idle_times(void **state)
{
	struct wf_spin_budget b = { 0 };
	int64_t poll_ns;

	idle_times(&b, 20, 20000);
	poll_ns = wf_spin_budget_begin(&b);
	assert_in_range(poll_ns, 20000, 40000);
	idle_times(&b, 20, 20000);
	assert_int_equal(wf_spin_budget_begin(&b), poll_ns);
	idle_times(&b, 20, WORTH);
	assert_int_equal(wf_spin_budget_begin(&b), WORTH);
}

static void shrinks_to_nothing(void **state)
{
	struct wf_spin_budget b = { 0 };

	idle_times(&b, 20, WORTH);
	idle_times(&b, 1, WORTH * 100);
	assert_int_equal(wf_spin_budget_begin(&b), WORTH / 2);
	idle_times(&b, 4, WORTH * 100);
	assert_int_equal(wf_spin_budget_begin(&b), 0);
	idle_times(&b, 1, 1000);
	assert_true(wf_spin_budget_begin(&b) > 0);
}

static void follows_the_value_of_polling(void **state)
{
	struct wf_spin_budget b = { 0 };

	idle_times(&b, 20, WORTH);
	wf_spin_budget_end(&b, 10000, 12000);
	assert_int_equal(wf_spin_budget_begin(&b), 12000);
	wf_spin_budget_end(&b, 1000, 2000);
	assert_int_equal(wf_spin_budget_begin(&b), 0);
}

/* The spin budget covers frequent wakes, whatever a wake costs. */
static void covers_frequent_wakes(void **state)
{
	const int64_t often_ns = 20000, wakes_ns[] = { 0, 1000, 9000, 40000 };

	for (size_t i = 0; i < sizeof(wakes_ns) / sizeof(*wakes_ns); i++) {
		int64_t worth_ns = wf_spin_budget_worth(wakes_ns[i]);
		struct wf_spin_budget b = { 0 };

		assert_true(worth_ns >= 2 * wakes_ns[i]);
		for (int nr = 0; nr < 20; nr++)
			wf_spin_budget_end(&b, often_ns, worth_ns);
		assert_in_range(wf_spin_budget_begin(&b), often_ns, worth_ns);
	}
}

/* Returns how many idle times in a row pass without polling. */
static int pauses(struct wf_spin_budget *b)
{
	int nr = 0;

	while (wf_spin_budget_begin(b) == 0)
		nr++;
	return nr;
}

static void yields(void **state)
{
	struct wf_spin_budget b = { .poll_ns = WORTH };

	for (int nr = 1; nr <= 64; nr *= 2) {
		wf_spin_budget_polled(&b, true);
		assert_int_equal(pauses(&b), nr);
	}
	wf_spin_budget_polled(&b, true);
	assert_int_equal(pauses(&b), 64);
	wf_spin_budget_polled(&b, false);
	assert_int_equal(pauses(&b), 0);
	wf_spin_budget_polled(&b, true);
	assert_int_equal(pauses(&b), 64);
	for (int i = 0; i < 7; i++)
		wf_spin_budget_polled(&b, false);
	wf_spin_budget_polled(&b, true);
	assert_int_equal(pauses(&b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(polls_not_before_it_is_known_to_pay),
		cmocka_unit_test(grows_to_cover_idle_times),
		cmocka_unit_test(shrinks_to_nothing),
		cmocka_unit_test(follows_the_value_of_polling),
		cmocka_unit_test(covers_frequent_wakes),
		cmocka_unit_test(yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
