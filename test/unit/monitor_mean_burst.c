/* SPDX-License-Identifier: MIT */
/*
 * src/monitor/tick.c, sched/queue.c: whether threads run for long enough to be
 * worth the wake of a VP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"
#include "sched/entry.h"
#include "sched/vp_io.h"

enum { TICK = MACHINE_TICK };

static void pass_tick(void)
{
	machine_pass(TICK);
	machine_tick();
}

static void count_switches(struct wf_vp *vp, int nr)
{
	for (int i = 0; i < nr; i++)
		wf_count_own(&vp->counters, switches);
}

static bool runs_long(const struct wf_vp *vp)
{
	return wf_load_relaxed(&vp->runs_long);
}

/* A wake costs 25 us here, so a mean burst above 50 us is long. */
static void test_mean_burst(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_thread());
	pass_tick();
	assert_true(runs_long(vp));
	count_switches(vp, 18);
	pass_tick();
	assert_true(runs_long(vp));
	count_switches(vp, 20);
	pass_tick();
	assert_false(runs_long(vp));
}

/* The time for sleeps and wakes does not count as a burst. */
static void test_sleeps_are_no_burst(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_thread());
	pass_tick();
	for (int i = 0; i < 10; i++)
		wf_count_own(&vp->counters, sleeps);
	count_switches(vp, 10);
	pass_tick();
	assert_false(runs_long(vp));
}

/* For an idle VP only the wall clock is known. */
static void test_idle_vp(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_thread());
	pass_tick();
	assert_true(runs_long(vp));
	wf_store_relaxed(&vp->cur, NULL);
	pass_tick();
	assert_true(runs_long(vp));
	count_switches(vp, 20);
	pass_tick();
	assert_false(runs_long(vp));
	pass_tick();
	assert_false(runs_long(vp));
}

/* A single thread that computes does not change the starvation bound. */
static void test_starvation_bound(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	assert_int_equal(wf_load_relaxed(&vp->starvation_bound),
			 WF_STARVATION_MOST);
	machine_run(vp, machine_thread());
	pass_tick();
	assert_int_equal(wf_load_relaxed(&vp->starvation_bound),
			 WF_STARVATION_MOST);
	count_switches(vp, 80);
	pass_tick();
	assert_int_equal(wf_load_relaxed(&vp->starvation_bound), 32);
	assert_int_equal(wf_load_relaxed(&vp->most_next_picks), 2);
	count_switches(vp, 50);
	pass_tick();
	assert_int_equal(wf_load_relaxed(&vp->starvation_bound), 20);
	assert_int_equal(wf_load_relaxed(&vp->most_next_picks), 1);
	count_switches(vp, 3);
	pass_tick();
	assert_int_equal(wf_load_relaxed(&vp->starvation_bound), 1);
	assert_int_equal(wf_load_relaxed(&vp->most_next_picks), 1);
	count_switches(vp, 5000);
	pass_tick();
	assert_int_equal(wf_load_relaxed(&vp->starvation_bound),
			 WF_STARVATION_MOST);
	assert_int_equal(wf_load_relaxed(&vp->most_next_picks),
			 WF_NEXT_SLOT_MOST);
}

/* The time that a VP has polled is not its next thread's CPU time. */
static void test_polling_is_not_charged(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	count_switches(vp, 1);
	wf_store_relaxed(&vp->polled_ns, TICK * 99 / 100);
	pass_tick();
	assert_false(wf_thread_is_cpu_bound(t));
	assert_false(runs_long(vp));
}

/* --- a CPU-bound thread may wake an idle VP, which runs other threads ----- */

static struct wf_vp *beside_an_idle_vp(void)
{
	machine_init(2);
	wf_store_relaxed(&wf_sched.nr_idle, 1);
	machine.nr_wakes = 0;
	return machine_vp(0);
}

/* A thread that has computed wakes the idle VP at its next three wakes. */
static void test_woken_after_computing(void **state)
{
	struct wf_vp *vp = beside_an_idle_vp();
	struct wf_thread *t = machine_cpu_bound();

	machine_run(vp, machine_thread());
	machine.nr_wakes = 0;
	for (uint32_t nr_waits = 1; nr_waits <= 3; nr_waits++) {
		wf_thread_end_stay(t);
		assert_false(wf_thread_is_cpu_bound(t));
		wf_queue_put(vp, t, WF_READY_WOKEN);
		assert_int_equal(machine.nr_wakes, nr_waits);
		assert_int_equal(wf_load_relaxed(&vp->next_slot),
				 WF_ENTRY_NONE);
		assert_ptr_equal(wf_queue_pick(vp), t);
	}
	wf_thread_end_stay(t);
	wf_queue_put(vp, t, WF_READY_WOKEN);
	assert_int_equal(machine.nr_wakes, 3);
	assert_int_not_equal(wf_load_relaxed(&vp->next_slot), WF_ENTRY_NONE);
}

/* If the VP is about to run the thread itself, no other VP is woken. */
static void test_the_only_one_stays(void **state)
{
	struct wf_vp *vp = beside_an_idle_vp();
	struct wf_thread *one = machine_cpu_bound(),
			 *other = machine_cpu_bound();

	wf_thread_end_stay(one);
	wf_thread_end_stay(other);
	wf_queue_put(vp, one, WF_READY_WOKEN);
	assert_int_equal(machine.nr_wakes, 0);
	wf_queue_put(vp, other, WF_READY_WOKEN);
	assert_int_equal(machine.nr_wakes, 1);
	assert_ptr_equal(wf_queue_pick(vp), one);
}

static void test_computes_and_yields(void **state)
{
	static const enum wf_ready ways[] = { WF_READY_PREEMPTED,
					      WF_READY_EXPIRED };

	for (size_t i = 0; i < 2; i++) {
		struct wf_vp *vp = beside_an_idle_vp();
		struct wf_thread *t = machine_cpu_bound();

		wf_queue_put(vp, t, ways[i]);
		assert_int_equal(machine.nr_wakes, 1);
		assert_ptr_equal(wf_queue_pick(machine_vp(1)), t);
		wf_store_relaxed(&wf_sched.nr_idle, 0);
		wf_queue_put(vp, t, ways[i]);
		assert_int_equal(wf_runq_len(&vp->batch), 1);
	}
}

static bool is_not_waiting(const struct wf_vp *vp)
{
	return false;
}

/*
 * The monitor must not sleep: only its tick notices a thread that waits behind
 * a computing thread or for the kernel.
 */
static void test_no_quiet_beside_an_idle_vp(void **state)
{
	static const struct wf_vp_io_ops ops = { .is_waiting = is_not_waiting };
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine_queue(vp, machine_cpu_bound());
	assert_true(wf_tick_quiet_ns() > 0);
	wf_store_relaxed(&wf_sched.nr_idle, 1);
	assert_int_equal(wf_tick_quiet_ns(), 0);
	wf_store_relaxed(&wf_sched.nr_idle, 0);
	wf_vp_io_ops = &ops;
	wf_store_relaxed(&vp->nr_requests, 1);
	assert_int_equal(wf_tick_quiet_ns(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean_burst),
		cmocka_unit_test(test_sleeps_are_no_burst),
		cmocka_unit_test(test_idle_vp),
		cmocka_unit_test(test_starvation_bound),
		cmocka_unit_test(test_polling_is_not_charged),
		cmocka_unit_test(test_woken_after_computing),
		cmocka_unit_test(test_the_only_one_stays),
		cmocka_unit_test(test_computes_and_yields),
		cmocka_unit_test(test_no_quiet_beside_an_idle_vp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
