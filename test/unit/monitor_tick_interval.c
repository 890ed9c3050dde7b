/* SPDX-License-Identifier: MIT */
/*
 * src/monitor/tick_interval.c: how often the monitor ticks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"
#include "monitor/tick_interval.h"
#include "sched/entry.h"

enum { TICK = MACHINE_TICK, LONG_TICK = 4 * TICK, ENOUGH = 100 };

static struct wf_tick_interval interval;

/*
 * Returns the time until the next tick if each VP switches `nr_switches` times.
 */
static int64_t pass_tick(uint32_t nr_vps, int nr_switches)
{
	for (uint32_t i = 0; i < nr_vps; i++) {
		for (int n = 0; n < nr_switches; n++)
			wf_count_own(&machine_vp(i)->counters, switches);
	}
	wf_tick_interval_update(&interval);
	return wf_tick_interval_next(&interval, true);
}

static int64_t pass_ticks(uint32_t nr_vps, int nr_switches)
{
	int64_t next = 0;

	for (int i = 0; i < ENOUGH; i++)
		next = pass_tick(nr_vps, nr_switches);
	return next;
}

static void begin(uint32_t nr_vps)
{
	interval = (struct wf_tick_interval){ 0 };
	machine_init(nr_vps);
	for (uint32_t i = 0; i < nr_vps; i++)
		machine_run(machine_vp(i), machine_thread());
	wf_tick_interval_update(&interval);
}

static void test_busy_switcher_gets_no_request(void **state)
{
	begin(2);
	assert_int_equal(pass_tick(2, 1000), TICK);
	assert_int_equal(pass_ticks(2, 1000), LONG_TICK);
	/*
	 * A long tick has four times the switches; above that the tick is short
	 * again.
	 */
	assert_int_equal(pass_tick(2, 4 * WF_TICK_LIVELY - 1), TICK);
	assert_int_equal(pass_tick(2, 1000), TICK);
}

static void test_one_that_stays_is_looked_at(void **state)
{
	begin(2);
	assert_int_equal(pass_ticks(1, 1000), TICK);
	/* An idle VP does not count. */
	wf_store_relaxed(&machine_vp(1)->cur, NULL);
	assert_int_equal(pass_ticks(1, 1000), LONG_TICK);
}

static void test_beside_a_computing_thread(void **state)
{
	begin(1);
	assert_int_equal(pass_ticks(1, 1000), LONG_TICK);
	machine_queue(machine_vp(0), machine_cpu_bound());
	assert_int_equal(pass_tick(1, 1000), TICK);
	begin(1);
	machine_run(machine_vp(0), machine_cpu_bound());
	assert_int_equal(pass_ticks(1, 1000), TICK);
}

static void test_where_there_is_something_to_see(void **state)
{
	begin(1);
	assert_int_equal(pass_ticks(1, 1000), LONG_TICK);
	wf_tick_interval_update(&interval);
	assert_int_equal(wf_tick_interval_next(&interval, false), TICK);
	assert_int_equal(pass_tick(1, 1000), TICK);
}

/*
 * VPs with work poll the injection queue only at a tick, so a thread there
 * shortens the tick.
 */
static void test_injected_threads_shorten_the_tick(void **state)
{
	uint64_t entry;

	begin(1);
	assert_int_equal(pass_ticks(1, 1000), LONG_TICK);
	entry = wf_entry_started(machine_thread());
	wf_inject_push(&wf_sched.inject, &entry, 1);
	assert_int_equal(pass_tick(1, 1000), TICK);
}

static void test_most_and_least_switches(void **state)
{
	begin(2);
	for (int n = 0; n < 7; n++)
		wf_count_own(&machine_vp(0)->counters, switches);
	wf_tick_interval_update(&interval);
	assert_int_equal(interval.most, 7);
	assert_int_equal(interval.least, 0);
	wf_store_relaxed(&machine_vp(0)->cur, NULL);
	wf_store_relaxed(&machine_vp(1)->cur, NULL);
	wf_tick_interval_update(&interval);
	assert_int_equal(interval.most, 0);
	assert_true(interval.least == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_busy_switcher_gets_no_request),
		cmocka_unit_test(test_one_that_stays_is_looked_at),
		cmocka_unit_test(test_beside_a_computing_thread),
		cmocka_unit_test(test_where_there_is_something_to_see),
		cmocka_unit_test(test_injected_threads_shorten_the_tick),
		cmocka_unit_test(test_most_and_least_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
