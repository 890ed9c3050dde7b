/* SPDX-License-Identifier: MIT */
/*
 * src/monitor/tick.c: each rule of fairness by itself. monitor_tick_whole.c
 * tests them together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "fake_machine.h"
#include "monitor/latency_stats.h"
#include "monitor/preempt_request.h"
#include "sched/runq.h"

enum { TICK = MACHINE_TICK };

static uint64_t runnable_wait_most_us(uint32_t vp)
{
	return wf_load_relaxed(&machine_vp(vp)->counters.runnable_wait_most_us);
}

/* --- CPU-bound threads ---------------------------------------------------- */

static void test_computing_thread_is_cpu_bound(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	wf_thread_set_uncooperative(t);
	machine_run(vp, t);
	machine_pass(TICK * 69 / 100);
	machine_pass_idle(TICK * 31 / 100);
	machine_tick();
	assert_false(wf_thread_is_cpu_bound(t));
	/*
	 * The time used so far keeps counting while the thread is not switched.
	 */
	machine_pass(TICK * 10 / 100);
	machine_pass_idle(TICK * 90 / 100);
	machine_tick();
	assert_true(wf_thread_is_cpu_bound(t));
}

/* TICK-4: a thread that is not known yet may be one that makes calls. */
static void test_unknown_becomes_cpu_bound(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	machine_pass_ticks(3);
	assert_false(wf_thread_is_cpu_bound(t));
	wf_thread_end_stay(t);
	machine_pass_ticks(3);
	assert_false(wf_thread_is_cpu_bound(t));
	machine_pass_ticks(1);
	assert_true(wf_thread_is_cpu_bound(t));
	assert_int_equal(machine.nr_signals, 0);
}

static void test_busy_switcher_is_not_cpu_bound(void **state)
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
	assert_false(wf_thread_is_cpu_bound(t));
	assert_int_equal(machine.nr_signals, 0);
}

static void test_places(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound(),
			 *other = machine_thread();
	struct wf_thread *displaced = machine_cpu_bound(), *yielded;

	wf_queue_put(vp, cpu_bound, WF_READY_EXPIRED);
	assert_int_equal(wf_queue_nr_batch(vp), 1);
	wf_queue_put(vp, displaced, WF_READY_PREEMPTED);
	wf_queue_put(vp, other, WF_READY_PREEMPTED);
	assert_int_equal(wf_queue_nr_interactive(vp), 1);
	yielded = machine_thread();
	wf_queue_put(vp, yielded, WF_READY_YIELDED);
	assert_ptr_equal(wf_queue_pick(vp), other);
	assert_false(other->from_batch);
	assert_ptr_equal(wf_queue_pick(vp), displaced);
	assert_true(displaced->from_batch);
	assert_ptr_equal(wf_queue_pick(vp), cpu_bound);
	assert_ptr_equal(wf_queue_pick(vp), yielded);
	assert_null(wf_queue_pick(vp));
}

/* --- which thread is preempted ------------------------------------------ */

static void test_lone_thread_is_not_preempted(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine_pass_ticks(100);
	assert_int_equal(machine.nr_signals, 0);
}

static void test_batch_yields_to_interactive(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *waiting = machine_thread();

	machine_run(vp, machine_cpu_bound());
	machine_queue(vp, waiting);
	machine_pass_ticks(1);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), waiting);
	assert_int_equal(wf_queue_nr_batch(vp), 1);
}

static void test_slices_of_b(void **state)
{
	static const struct {
		int nr_waiting, ticks;
	} rows[] = { { 1, 4 },	{ 5, 4 },  { 7, 3 },
		     { 11, 2 }, { 23, 1 }, { 49, 1 } };

	for (size_t i = 0; i < WF_ARRAY_LEN(rows); i++) {
		struct wf_vp *vp = machine_one_vp();

		machine_run(vp, machine_cpu_bound());
		for (int k = 0; k < rows[i].nr_waiting; k++)
			machine_queue(vp, machine_cpu_bound());
		machine_pass_ticks(rows[i].ticks - 1);
		assert_int_equal(machine.nr_signals, 0);
		machine_pass_ticks(1);
		assert_int_equal(machine.nr_signals, 1);
	}
}

/*
 * A batch thread that yields to an interactive one continues its slice
 * afterwards, and then goes to the tail of the batch queue.
 */
static void test_slice_goes_on(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound(),
			 *other = machine_cpu_bound();
	struct wf_thread *woken = machine_thread();

	machine_run(vp, cpu_bound);
	machine_queue(vp, other);
	machine_pass_ticks(1);
	machine_queue(vp, woken);
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), woken);
	machine_block(vp);
	assert_ptr_equal(wf_load_relaxed(&vp->cur), cpu_bound);
	machine_pass_ticks(1);
	assert_false(machine_switch(vp));
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), other);
	assert_int_equal(cpu_bound->slice_us, 0);
}

/* Beside many interactive threads the slices of batch threads are short. */
static void test_short_slices_beside_many(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound(),
			 *other = machine_cpu_bound();

	machine_run(vp, cpu_bound);
	machine_queue(vp, other);
	for (int i = 0; i < 10; i++)
		machine_queue(vp, machine_thread());
	wf_store_relaxed(&vp->batch_deficit, 2 * WF_DEFICIT_TICK);
	machine_pass_ticks(1);
	assert_true(machine_switch(vp));
	assert_int_equal(cpu_bound->slice_us, 0);
	while (wf_queue_nr_batch(vp) == 2)
		machine_block(vp);
	assert_ptr_equal(wf_load_relaxed(&vp->cur), other);
}

/* Interactive threads never block, and the batch queue gets its share. */
static void test_batch_queue_is_owed(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound();
	int64_t end;

	machine_queue(vp, cpu_bound);
	machine_run(vp, machine_thread());
	end = machine.now_ns + 1000LL * TICK;
	while (machine.now_ns < end) {
		struct wf_thread *t = wf_load_relaxed(&vp->cur);

		machine_pass(WF_TICK_RETRY_NS);
		wf_preempt_request_retry(machine.now_ns);
		/* Treat the thread as one that has just been woken. */
		if (t != cpu_bound)
			t->cpu_bound = 0;
		if (machine_switch(vp))
			continue;
		machine_pass(TICK - WF_TICK_RETRY_NS);
		machine_tick();
		machine_switch(vp);
	}
	/* Half of the time, as there are two threads. */
	assert_in_range(machine_used(cpu_bound), 400LL * TICK, 600LL * TICK);
}

static void test_timer_preempts_b(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound(),
			 *woken = machine_thread();

	machine_run(vp, cpu_bound);
	machine_pass(TICK / 3);
	wf_queue_put_remote(NULL, woken, WF_READY_WOKEN);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), woken);
}

/* Wakes a thread from outside, as a kernel thread does. */
static void arrive(struct wf_vp *vp)
{
	wf_queue_put_remote(NULL, machine_thread(), WF_READY_WOKEN);
	atomic_fetch_or(&vp->pending, WF_PENDING_REMOTE);
}

static void test_others_are_spared(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	/* The running thread is not CPU-bound. */
	machine_run(vp, machine_thread());
	machine_pass(TICK / 3);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	/* The batch queue is owed a tick. */
	vp = machine_one_vp();
	machine_run(vp, machine_cpu_bound());
	machine_pass(TICK / 3);
	wf_store_relaxed(&vp->batch_deficit, WF_DEFICIT_TICK);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	arrive(vp);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_NONE);
	assert_int_equal(machine.nr_signals, 0);
}

static void test_remote_wakeup_preempts_batch(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine_pass(TICK / 3);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_NONE);
	arrive(vp);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_KEPT);
	assert_int_equal(machine.nr_signals, 1);
	/* The thread has a request already, so it gets no second one. */
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_NONE);
	assert_int_equal(machine.nr_signals, 1);
}

/* A thread that is not CPU-bound yet has run for the whole starvation bound. */
static void test_remote_wakeup_ends_a_long_run(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_thread());
	arrive(vp);
	/* If the other threads run for microseconds, this one will, too. */
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_NONE);
	wf_vp_set_starvation_bound(vp, WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_PENDING);
	machine_pass(WF_LONG_RUN_NS / 2);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_PENDING);
	/* Another thread runs by now. */
	wf_count_own(&vp->counters, switches);
	machine_pass(WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_PENDING);
	assert_int_equal(machine.nr_signals, 0);
	machine_pass(WF_LONG_RUN_NS);
	assert_int_equal(wf_tick_remote_wakeups(machine.now_ns),
			 WF_REMOTE_WAKEUPS_KEPT);
	assert_int_equal(machine.nr_signals, 0);
	machine_pass(WF_TICK_RETRY_NS);
	assert_true(wf_preempt_request_retry(machine.now_ns));
	assert_int_equal(machine.nr_signals, 1);
}

/* --- several VPs, the monitor's sleep, handoff -------------------------- */

static void test_load_balance_of_interactive(void **state)
{
	machine_init(2);
	machine_run(machine_vp(0), machine_thread());
	machine_run(machine_vp(1), machine_thread());
	for (int i = 0; i < 8; i++)
		machine_queue(machine_vp(0), machine_thread());
	machine_pass_ticks(1);
	assert_int_equal(wf_runq_len(&machine_vp(0)->interactive), 4);
	assert_int_equal(wf_inject_len(&machine_vp(1)->remote), 4);
}

static void test_load_balance_of_batch(void **state)
{
	int nr_ticks = 0;

	machine_init(2);
	machine_run(machine_vp(0), machine_cpu_bound());
	machine_run(machine_vp(1), machine_cpu_bound());
	machine_queue(machine_vp(0), machine_cpu_bound());
	machine_queue(machine_vp(0), machine_cpu_bound());
	/* A queue longer by two gives up a thread at once. */
	machine_pass_ticks(1);
	assert_int_equal(wf_inject_len(&machine_vp(1)->remote), 1);
	/*
	 * A queue longer by one gives up a thread at each fourth tick, so the
	 * threads take turns.
	 */
	machine_init(2);
	machine_run(machine_vp(0), machine_cpu_bound());
	machine_run(machine_vp(1), machine_cpu_bound());
	machine_queue(machine_vp(0), machine_cpu_bound());
	while (wf_inject_len(&machine_vp(1)->remote) == 0 && nr_ticks < 10) {
		machine_pass_ticks(1);
		nr_ticks++;
	}
	assert_in_range(nr_ticks, 1, 4);
}

static void test_quiet(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound();

	machine_run(vp, cpu_bound);
	/* no interactive thread waits */
	assert_int_equal(wf_tick_quiet_ns(), 0);
	machine_queue(vp, machine_cpu_bound());
	assert_in_range(wf_tick_quiet_ns(), 3 * TICK, 4 * TICK);
	cpu_bound->cpu_bound = 0;
	assert_int_equal(wf_tick_quiet_ns(), 0);
	cpu_bound->cpu_bound = WF_CPU_BOUND_NOW;
	machine_queue(vp, machine_thread());
	assert_int_equal(wf_tick_quiet_ns(), 0);
}

static void test_handoffs_count_as_turns(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *cpu_bound = machine_cpu_bound();
	int nr_handoffs = 0;

	machine_queue(vp, cpu_bound);
	for (int i = 0; i < 100; i++)
		machine_queue(vp, machine_thread());
	machine_run(vp, wf_queue_pick(vp));
	while (wf_load_relaxed(&vp->cur) != cpu_bound && nr_handoffs < 100) {
		wf_tick_handed_off(vp, wf_load_relaxed(&vp->cur));
		machine_block(vp);
		nr_handoffs++;
	}
	/* The batch queue gets at least an eighth of the time. */
	assert_in_range(nr_handoffs, 1, 8);
}

/*
 * A latency mark from before the monitor's sleep must not count as a wait of
 * all that time.
 */
static void test_waits_end_when_nothing_waits(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *first = machine_thread(), *second = machine_thread();

	machine_run(vp, machine_thread());
	machine_queue(vp, first);
	machine_queue(vp, second);
	machine_pass_ticks(1);
	assert_in_range(runnable_wait_most_us(0), 0, 1000);
	machine_block(vp);
	machine_block(vp);
	wf_latency_stats_reset();
	machine_pass_ticks(1);
	machine_pass(40LL * TICK);
	machine_tick();
	assert_in_range(runnable_wait_most_us(0), 0, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_becomes_cpu_bound),
		cmocka_unit_test(test_computing_thread_is_cpu_bound),
		cmocka_unit_test(test_busy_switcher_is_not_cpu_bound),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_lone_thread_is_not_preempted),
		cmocka_unit_test(test_batch_yields_to_interactive),
		cmocka_unit_test(test_slices_of_b),
		cmocka_unit_test(test_slice_goes_on),
		cmocka_unit_test(test_short_slices_beside_many),
		cmocka_unit_test(test_batch_queue_is_owed),
		cmocka_unit_test(test_timer_preempts_b),
		cmocka_unit_test(test_others_are_spared),
		cmocka_unit_test(test_remote_wakeup_preempts_batch),
		cmocka_unit_test(test_remote_wakeup_ends_a_long_run),
		cmocka_unit_test(test_load_balance_of_interactive),
		cmocka_unit_test(test_load_balance_of_batch),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_handoffs_count_as_turns),
		cmocka_unit_test(test_waits_end_when_nothing_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
