/* SPDX-License-Identifier: MIT */
/*
 * src/monitor/preempt_request.c: which threads are preempted, and how.
 * monitor_tick.c says when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"
#include "monitor/preempt_request.h"

enum { TICK = MACHINE_TICK };

/*
 * PREEMPT_REQUEST-2: a thread that makes calls sees the request at the next
 * one.
 */
static void test_yielding_thread_is_not_signalled(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread(), *other = machine_thread();
	int64_t used, others;

	machine_run(vp, t);
	machine_queue(vp, other);
	for (int i = 0; i < 400; i++) {
		machine_pass_ticks(1);
		machine_call(vp);
		wf_preempt_request_retry(machine.now_ns);
	}
	used = machine_used(t);
	others = machine_used(other);
	assert_in_range(used, others - 8LL * TICK, others + 8LL * TICK);
	assert_int_equal(machine.nr_signals, 0);
}

/* If no thread waits, the running thread gets no request. */
static void test_lone_thread_gets_no_request(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	machine_pass_ticks(10);
	assert_true(wf_thread_is_cpu_bound(t));
	assert_int_equal(machine.nr_signals, 0);
	assert_int_equal(wf_load_relaxed(&t->exit_work), 0);
}

/* t runs and is asked to yield to another thread. */
static struct wf_thread *run_asked(struct wf_vp *vp)
{
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	machine_queue(vp, machine_thread());
	machine_pass_ticks(1);
	assert_int_equal(machine.nr_signals, 0);
	assert_int_equal(wf_load_relaxed(&t->exit_work), WF_WORK_RESCHED);
	return t;
}

/*
 * PREEMPT_REQUEST-2: a thread that makes no call is uncooperative, and is
 * signalled the next times.
 */
static void test_thread_without_calls_is_signalled(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = run_asked(vp);

	/* ask again soon */
	assert_true(wf_preempt_request_retry(machine.now_ns));
	machine_pass(WF_TICK_RETRY_NS);
	assert_true(wf_preempt_request_retry(machine.now_ns));
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	for (int i = 0; i < 20; i++)
		assert_true(wf_thread_is_uncooperative(t));
	/*
	 * The thread answers by calls, but is treated as uncooperative for some
	 * time.
	 */
	wf_store_relaxed(&t->exit_work, 0);
	for (uint32_t i = 0; i < WF_CPU_BOUND_MOST; i++)
		assert_true(wf_thread_is_uncooperative(t));
	assert_false(wf_thread_is_uncooperative(t));
}

/*
 * PREEMPT_REQUEST-2: if the last thread has answered, the next has a tick's
 * time.
 */
static void test_time_after_an_answer(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	run_asked(vp);
	assert_true(machine_call(vp));
	assert_false(wf_preempt_request_retry(machine.now_ns));
	machine_block(vp);
	machine_queue(vp, machine_thread());
	machine_pass_ticks(1);
	assert_false(wf_preempt_request_retry(machine.now_ns));
	machine_pass(WF_TICK_RETRY_NS);
	assert_false(wf_preempt_request_retry(machine.now_ns));
	/* The thread has not had the CPU, so it could not answer. */
	machine_pass_idle(2 * TICK);
	machine.is_runnable = false;
	assert_false(wf_preempt_request_retry(machine.now_ns));
	assert_int_equal(machine.nr_signals, 0);
	machine.is_runnable = true;
	machine_pass(TICK);
	assert_true(wf_preempt_request_retry(machine.now_ns));
	assert_int_equal(machine.nr_signals, 1);
}

/* The VP's new carrier has used less CPU time than the old one. */
static void test_time_on_another_carrier(void **state)
{
	struct wf_thread *t;
	struct wf_vp *vp;

	machine_init(2);
	vp = machine_vp(0);
	machine_run(vp, machine_thread());
	machine_pass(100LL * TICK);
	machine_run(machine_vp(1), machine_thread());
	t = machine_thread();
	machine_run(vp, t);
	machine_queue(vp, machine_thread());
	machine_pass_ticks(1);
	vp->carrier = machine_vp(1)->carrier;
	for (int i = 0; i < 3; i++) {
		machine_pass(TICK);
		wf_preempt_request_retry(machine.now_ns);
	}
	assert_true(wf_thread_was_uncooperative(t));
	assert_int_equal(machine.nr_signals, 1);
}

/* For a real-time thread the running thread is signalled at once. */
static void test_real_time_is_urgent(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_thread *t = run_asked(vp);

	wf_preempt_request(vp, t, wf_load_relaxed(&vp->counters.switches),
			   WF_RESCHED_REALTIME, machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
}

/* PREEMPT_REQUEST-1: a sleeping carrier is not signalled. */
static void test_system_calls_are_not_disturbed(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine.is_runnable = false;
	machine_pass(TICK / 4);
	machine_pass_idle(TICK / 2);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	/*
	 * A runnable carrier is signalled, even if another process has the CPU.
	 */
	machine.is_runnable = true;
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
}

/* The thread has computed until it fell asleep just now. */
static void test_new_sleeper_is_not_disturbed(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine_queue(vp, machine_thread());
	machine.is_runnable = false;
	machine_pass_ticks(1);
	assert_int_equal(machine.nr_signals, 0);
	machine.is_runnable = true;
	machine_pass_ticks(1);
	assert_int_equal(machine.nr_signals, 1);
}

/*
 * PREEMPT_REQUEST-1: without /proc the CPU clock shows whether a carrier runs.
 */
static void test_without_proc(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine.has_no_proc = true;
	machine_run(vp, machine_cpu_bound());
	machine_pass(TICK / 4);
	machine_pass_idle(TICK / 2);
	wf_tick_timer_fired(vp, machine.now_ns);
	assert_int_equal(machine.nr_signals, 0);
	machine_queue(vp, machine_thread());
	machine_pass_ticks(2);
	assert_int_equal(machine.nr_signals, 1);
}

static void test_retry_after_refusals(void **state)
{
	struct wf_vp *vp = machine_one_vp();
	struct wf_carrier *c = vp->carrier;
	uint32_t nr;

	machine_run(vp, machine_cpu_bound());
	machine_queue(vp, machine_thread());
	machine_pass_ticks(1);
	assert_true(
		wf_preempt_request_retry(machine.now_ns)); /* no answer yet */
	assert_int_equal(machine.nr_signals, 1);
	for (nr = 1; nr < 100 && !wf_load_relaxed(&c->insist); nr++) {
		wf_store_relaxed(&c->is_signalled, false);
		wf_store_relaxed(&c->has_refused, true);
		machine_pass(WF_TICK_RETRY_NS);
		assert_true(wf_preempt_request_retry(machine.now_ns));
		assert_int_equal(machine.nr_signals, nr + 1);
	}
	assert_int_equal(nr, 1 + TICK / 2 / WF_TICK_RETRY_NS);
	/* The thread has yielded, so nothing remains to be done. */
	assert_true(machine_switch(vp));
	assert_false(wf_preempt_request_retry(machine.now_ns));
}

static void test_no_retry_without_refusal(void **state)
{
	struct wf_vp *vp = machine_one_vp();

	machine_run(vp, machine_cpu_bound());
	machine_queue(vp, machine_thread());
	machine_pass_ticks(1);
	wf_store_relaxed(&vp->carrier->is_signalled, false);
	assert_false(
		wf_preempt_request_retry(machine.now_ns + WF_TICK_RETRY_NS));
	assert_int_equal(machine.nr_signals, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_sleeper_is_not_disturbed),
		cmocka_unit_test(test_no_retry_without_refusal),
		cmocka_unit_test(test_real_time_is_urgent),
		cmocka_unit_test(test_retry_after_refusals),
		cmocka_unit_test(test_system_calls_are_not_disturbed),
		cmocka_unit_test(test_time_after_an_answer),
		cmocka_unit_test(test_time_on_another_carrier),
		cmocka_unit_test(test_lone_thread_gets_no_request),
		cmocka_unit_test(test_yielding_thread_is_not_signalled),
		cmocka_unit_test(test_thread_without_calls_is_signalled),
		cmocka_unit_test(test_without_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
