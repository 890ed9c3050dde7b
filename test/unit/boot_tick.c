/*
 * src/boot/tick.c: the rules of fairness one by one. boot_tick_whole.c has
 * them all together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "boot/longest.h"
#include "boot/stop.h"
#include "fake_machine.h"
#include "sched/runq.h"

enum { TICK = MACHINE_TICK };

static uint64_t longest_wait_us(uint32_t vp)
{
	return wf_load_relaxed(&machine_vp(vp)->counters.longest_wait_us);
}

/* --- hogs --------------------------------------------------------------- */

static void test_who_computes_is_a_hog(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	wf_thread_set_deaf(t);
	machine_run(vp, t);
	machine_pass(TICK * 69 / 100);
	machine_pass_idle(TICK * 31 / 100);
	machine_tick();
	assert_false(wf_thread_is_hog(t));
	/* What it has used is counted on while it is not switched. */
	machine_pass(TICK * 10 / 100);
	machine_pass_idle(TICK * 90 / 100);
	machine_tick();
	assert_true(wf_thread_is_hog(t));
}

/* TICK-4: it may be one that makes calls. */
static void test_unknown_becomes_a_hog(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	machine_pass_ticks(3);
	assert_false(wf_thread_is_hog(t));
	wf_thread_end_stay(t);
	machine_pass_ticks(3);
	assert_false(wf_thread_is_hog(t));
	machine_pass_ticks(1);
	assert_true(wf_thread_is_hog(t));
	assert_int_equal(machine.nr_signals, 0);
}

static void test_who_switches_often_is_no_hog(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	for (int i = 0; i < 10; i++) {
		wf_count_own(&vp->counters, switches);
		wf_count_own(&vp->counters, switches);
		wf_thread_end_stay(t);
		machine_pass_ticks(1);
	}
	assert_false(wf_thread_is_hog(t));
	assert_int_equal(machine.nr_signals, 0);
}

static void test_places(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog(), *other = machine_thread();
	struct wf_thread *displaced = machine_hog(), *yielded;

	wf_queue_put(vp, hog, WF_READY_EXPIRED);
	assert_int_equal(wf_queue_waiting_b(vp), 1);
	wf_queue_put(vp, displaced, WF_READY_PREEMPTED);
	wf_queue_put(vp, other, WF_READY_PREEMPTED);
	assert_int_equal(wf_queue_waiting_i(vp), 1);
	yielded = machine_thread();
	wf_queue_put(vp, yielded, WF_READY_YIELDED);
	assert_ptr_equal(wf_queue_pick(vp), other);
	assert_false(other->from_b);
	assert_ptr_equal(wf_queue_pick(vp), displaced);
	assert_true(displaced->from_b);
	assert_ptr_equal(wf_queue_pick(vp), hog);
	assert_ptr_equal(wf_queue_pick(vp), yielded);
	assert_null(wf_queue_pick(vp));
}

/* --- who is preempted --------------------------------------------------- */

static void test_alone_nobody_is_preempted(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_hog());
	machine_pass_ticks(100);
	assert_int_equal(machine.nr_signals, 0);
}

static void test_b_gives_way_to_i(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *waiting = machine_thread();

	machine_run(vp, machine_hog());
	machine_queue(vp, waiting);
	machine_pass_ticks(1);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), waiting);
	assert_int_equal(wf_queue_waiting_b(vp), 1);
}

static void test_slices_of_b(void **state)
{
	static const struct {
		int nr_waiting, ticks;
	} rows[] = { { 1, 4 },	{ 5, 4 },  { 7, 3 },
		     { 11, 2 }, { 23, 1 }, { 49, 1 } };

	for (size_t i = 0; i < WF_ARRAY_LEN(rows); i++) {
		struct wf_vp *vp = machine_one_vp();

		machine_run(vp, machine_hog());
		for (int k = 0; k < rows[i].nr_waiting; k++)
			machine_queue(vp, machine_hog());
		machine_pass_ticks(rows[i].ticks - 1);
		assert_int_equal(machine.nr_signals, 0);
		machine_pass_ticks(1);
		assert_int_equal(machine.nr_signals, 1);
	}
}

/* Who gives way to one of I's goes on with its slice, then to B's tail. */
static void test_slice_goes_on(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog(), *other = machine_hog();
	struct wf_thread *woken = machine_thread();

	machine_run(vp, hog);
	machine_queue(vp, other);
	machine_pass_ticks(1);
	machine_queue(vp, woken);
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), woken);
	machine_block(vp);
	assert_ptr_equal(wf_load_relaxed(&vp->cur), hog);
	machine_pass_ticks(1);
	assert_false(machine_switch(vp));
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), other);
	assert_int_equal(hog->slice_us, 0);
}

/* Beside many of I's: B has few ticks, and all of B's wait for them. */
static void test_short_slices_beside_many(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog(), *other = machine_hog();

	machine_run(vp, hog);
	machine_queue(vp, other);
	for (int i = 0; i < 10; i++)
		machine_queue(vp, machine_thread());
	wf_store_relaxed(&vp->balance, 2 * WF_BALANCE_TICK);
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_int_equal(hog->slice_us, 0);
	while (wf_queue_waiting_b(vp) == 2)
		machine_block(vp);
	assert_ptr_equal(wf_load_relaxed(&vp->cur), other);
}

/* The threads of I never block: B gets its share all the same. */
static void test_b_is_owed(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog();
	int64_t end;

	machine_queue(vp, hog);
	machine_run(vp, machine_thread());
	end = machine.now_ns + 1000LL * TICK;
	while (machine.now_ns < end) {
		struct wf_thread *t = wf_load_relaxed(&vp->cur);

		machine_pass(WF_TICK_RETRY_NS);
		wf_stop_retry(machine.now_ns);
		/* As if it woke anew each time. */
		if (t != hog)
			t->hog = 0;
		if (machine_switch(vp))
			continue;
		machine_pass(TICK - WF_TICK_RETRY_NS);
		machine_tick();
		machine_switch(vp);
	}
	/* Half of all: one thread of two. */
	assert_in_range(machine_used(hog), 400LL * TICK, 600LL * TICK);
}

static void test_timer_preempts_b(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog(), *woken = machine_thread();

	machine_run(vp, hog);
	machine_pass(TICK / 3);
	wf_queue_put_remote(NULL, woken, WF_READY_WOKEN);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), woken);
}

/* As a kernel thread does it. */
static void arrive(struct wf_vp *vp)
{
	wf_queue_put_remote(NULL, machine_thread(), WF_READY_WOKEN);
	atomic_fetch_or(&vp->look, WF_LOOK_GIFTS);
}

static void test_others_are_spared(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	/* Who is no hog. */
	machine_run(vp, machine_thread());
	machine_pass(TICK / 3);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	/* When B is owed. */
	vp = machine_one_vp();
	machine_run(vp, machine_hog());
	machine_pass(TICK / 3);
	wf_store_relaxed(&vp->balance, WF_BALANCE_TICK);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	arrive(vp);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_NONE);
	assert_int_equal(machine.nr_signals, 0);
}

static void test_arrival_preempts_b(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_hog());
	machine_pass(TICK / 3);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_NONE);
	arrive(vp);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_KEPT);
	assert_int_equal(machine.nr_signals, 1);
	/* It has been asked, and is not seen to again and again for that. */
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_NONE);
	assert_int_equal(machine.nr_signals, 1);
}

/* Who is no hog yet, but has run for as long as others may be passed over. */
static void test_arrival_ends_a_long_run(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_thread());
	arrive(vp);
	/* Where others run for microseconds, it will, too. */
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_NONE);
	wf_vp_set_patience(vp, WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_SEEN);
	machine_pass(WF_LONG_RUN_NS / 2);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_SEEN);
	/* Another one by now. */
	wf_count_own(&vp->counters, switches);
	machine_pass(WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_SEEN);
	assert_int_equal(machine.nr_signals, 0);
	machine_pass(WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_arrivals(machine.now_ns), WF_ARRIVALS_KEPT);
	assert_int_equal(machine.nr_signals, 0);
	machine_pass(WF_TICK_RETRY_NS);
	assert_true(wf_stop_retry(machine.now_ns));
	assert_int_equal(machine.nr_signals, 1);
}

/* --- several VPs, the monitor's sleep, rescue --------------------------- */

static void test_balance_of_i(void **state)
{
	machine_init(2);
	machine_run(machine_vp(0), machine_thread());
	machine_run(machine_vp(1), machine_thread());
	for (int i = 0; i < 8; i++)
		machine_queue(machine_vp(0), machine_thread());
	machine_pass_ticks(1);
	assert_int_equal(wf_runq_len(&machine_vp(0)->ring_i), 4);
	assert_int_equal(wf_inject_len(&machine_vp(1)->inbox), 4);
}

static void test_balance_of_b(void **state)
{
	int nr_ticks = 0;

	machine_init(2);
	machine_run(machine_vp(0), machine_hog());
	machine_run(machine_vp(1), machine_hog());
	machine_queue(machine_vp(0), machine_hog());
	machine_queue(machine_vp(0), machine_hog());
	/* Longer by two: at once. */
	machine_pass_ticks(1);
	assert_int_equal(wf_inject_len(&machine_vp(1)->inbox), 1);
	/* Longer by one: on each fourth tick, so that they take turns. */
	machine_init(2);
	machine_run(machine_vp(0), machine_hog());
	machine_run(machine_vp(1), machine_hog());
	machine_queue(machine_vp(0), machine_hog());
	while (wf_inject_len(&machine_vp(1)->inbox) == 0 && nr_ticks < 10) {
		machine_pass_ticks(1);
		nr_ticks++;
	}
	assert_in_range(nr_ticks, 1, 4);
}

static void test_quiet(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog();

	machine_run(vp, hog);
	assert_int_equal(wf_tick_quiet_ns(), 0); /* nobody waits */
	machine_queue(vp, machine_hog());
	assert_in_range(wf_tick_quiet_ns(), 3 * TICK, 4 * TICK);
	hog->hog = 0;
	assert_int_equal(wf_tick_quiet_ns(), 0);
	hog->hog = WF_HOG_IS;
	machine_queue(vp, machine_thread());
	assert_int_equal(wf_tick_quiet_ns(), 0);
}

static void test_who_blocks_pays(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *hog = machine_hog();
	int nr_rescues = 0;

	machine_queue(vp, hog);
	for (int i = 0; i < 100; i++)
		machine_queue(vp, machine_thread());
	machine_run(vp, wf_queue_pick(vp));
	while (wf_load_relaxed(&vp->cur) != hog && nr_rescues < 100) {
		wf_tick_rescued(vp, wf_load_relaxed(&vp->cur));
		machine_block(vp);
		nr_rescues++;
	}
	/* B's share is an eighth at least. */
	assert_in_range(nr_rescues, 1, 8);
}

/* A mark of before the monitor slept is no wait of all that time. */
static void test_waits_end_when_nothing_waits(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *first = machine_thread(), *second = machine_thread();

	machine_run(vp, machine_thread());
	machine_queue(vp, first);
	machine_queue(vp, second);
	machine_pass_ticks(1);
	assert_in_range(longest_wait_us(0), 0, 1000);
	machine_block(vp);
	machine_block(vp);
	wf_longest_nothing_waits();
	machine_pass_ticks(1);
	machine_pass(40LL * TICK);
	machine_tick();
	assert_in_range(longest_wait_us(0), 0, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_becomes_a_hog),
		cmocka_unit_test(test_who_computes_is_a_hog),
		cmocka_unit_test(test_who_switches_often_is_no_hog),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_alone_nobody_is_preempted),
		cmocka_unit_test(test_b_gives_way_to_i),
		cmocka_unit_test(test_slices_of_b),
		cmocka_unit_test(test_slice_goes_on),
		cmocka_unit_test(test_short_slices_beside_many),
		cmocka_unit_test(test_b_is_owed),
		cmocka_unit_test(test_timer_preempts_b),
		cmocka_unit_test(test_others_are_spared),
		cmocka_unit_test(test_arrival_preempts_b),
		cmocka_unit_test(test_arrival_ends_a_long_run),
		cmocka_unit_test(test_balance_of_i),
		cmocka_unit_test(test_balance_of_b),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_who_blocks_pays),
		cmocka_unit_test(test_waits_end_when_nothing_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
