/* SPDX-License-Identifier: MIT */
/*
 * src/sched/throttle.c: the time that is left to other threads beside real-time
 * threads, with the real queues and the real tick.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

#include "fake_machine.h"
#include "random.h"
#include "sched/realtime.h"
#include "sched/switch.h"
#include "sched/throttle.h"

enum { TICK = MACHINE_TICK, REALTIME_TICKS = 950, OTHERS_TICKS = 50 };

static struct wf_thread *realtime_thread(int policy, uint8_t priority)
{
	struct wf_thread *t = machine_thread();

	t->sched_policy = (uint8_t)policy & 15;
	t->sched_priority = (int8_t)priority;
	t->rt_priority = priority;
	return t;
}

static struct wf_thread *running(uint32_t vp)
{
	return wf_load_relaxed(&machine_vp(vp)->cur);
}

/* Passes ticks; carriers handle each signal and each request. */
static void pass_ticks(int nr)
{
	for (int i = 0; i < nr; i++) {
		machine_pass(TICK);
		machine_tick();
		wf_tick_realtime(machine.now_ns);
		for (uint32_t k = 0; k < wf_sched.nr_vps; k++)
			machine_switch(machine_vp(k));
	}
}

/* The only VP runs t, and another thread waits. */
static struct wf_thread *begin(struct wf_thread *t)
{
	struct wf_thread *other = machine_thread();

	machine_run(machine_vp(0), t);
	machine_queue(machine_vp(0), other);
	return other;
}

static void test_a_twentieth(void **state)
{
	struct wf_thread *fifo, *other;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	pass_ticks(REALTIME_TICKS - 1);
	assert_int_equal(machine_used(other), 0);
	assert_int_equal(machine.nr_signals, 0);
	pass_ticks(1);
	assert_ptr_equal(running(0), other);
	pass_ticks(OTHERS_TICKS);
	assert_ptr_equal(running(0), fifo);
	pass_ticks(9 * (REALTIME_TICKS + OTHERS_TICKS));
	assert_in_range(machine_used(other), 10LL * OTHERS_TICKS * TICK,
			10LL * (OTHERS_TICKS + 2) * TICK);
}

/* Of several real-time threads, the one that runs is preempted. */
static void test_beside_several(void **state)
{
	struct wf_thread *t[3], *other;

	machine_init(1);
	t[0] = realtime_thread(SCHED_RR, 20);
	t[1] = realtime_thread(SCHED_RR, 20);
	t[2] = realtime_thread(SCHED_FIFO, 10);
	other = begin(t[0]);
	machine_queue(machine_vp(0), t[1]);
	machine_queue(machine_vp(0), t[2]);
	pass_ticks(REALTIME_TICKS);
	assert_ptr_equal(running(0), other);
	pass_ticks(4 * (REALTIME_TICKS + OTHERS_TICKS));
	assert_in_range(machine_used(other), 4LL * OTHERS_TICKS * TICK,
			5LL * (OTHERS_TICKS + 2) * TICK);
	assert_in_range(machine_used(t[1]), machine_used(t[0]) - 60LL * TICK,
			machine_used(t[0]) + 60LL * TICK);
	assert_int_equal(machine_used(t[2]), 0);
}

/* THROTTLE-1: real-time threads that leave enough are never disturbed. */
static void test_realtime_that_leaves_enough(void **state)
{
	struct wf_thread *fifo, *other;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	for (int i = 0; i < 100; i++) {
		pass_ticks(90);
		assert_ptr_equal(running(0), fifo);
		machine_block(machine_vp(0));
		assert_ptr_equal(running(0), other);
		pass_ticks(10);
		machine_block(machine_vp(0));
		machine_queue(machine_vp(0), other);
		machine_run(machine_vp(0), fifo);
	}
	assert_false(wf_throttle_is_on(machine_vp(0)));
	assert_int_equal(machine.nr_signals, 0);
}

/* THROTTLE-2: no thread is left that could use the time. */
static void test_ends_when_not_used(void **state)
{
	struct wf_thread *fifo;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	begin(fifo);
	pass_ticks(REALTIME_TICKS + 1);
	assert_true(wf_throttle_is_on(machine_vp(0)));
	machine_block(machine_vp(0));
	assert_ptr_equal(running(0), fifo);
	assert_false(wf_throttle_is_on(machine_vp(0)));
}

/* A yield without another real-time thread must not end the throttling. */
static void test_yield_while_throttled(void **state)
{
	struct wf_thread *fifo, *other;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	pass_ticks(REALTIME_TICKS + 1);
	assert_ptr_equal(running(0), other);
	assert_null(wf_switch_next(other, WF_RESCHED_NONE));
	assert_true(wf_throttle_is_on(machine_vp(0)));
}

/* THROTTLE-3: the thread yields by itself and needs no signal. */
static void test_by_itself(void **state)
{
	struct wf_thread *fifo, *other;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	for (int i = 0; i < REALTIME_TICKS; i++) {
		machine_pass(TICK);
		machine_tick();
		if (i < REALTIME_TICKS - 1)
			assert_null(wf_switch_next(fifo, WF_RESCHED_NONE));
	}
	assert_ptr_equal(wf_switch_next(fifo, WF_RESCHED_NONE), other);
}

/* THROTTLE-3: a thread that wakes a throttled real-time thread goes on. */
static void test_is_not_disturbed(void **state)
{
	struct wf_thread *fifo, *other, *higher;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	pass_ticks(REALTIME_TICKS + 1);
	higher = realtime_thread(SCHED_FIFO, 50);
	/* PREEMPT_REQUEST-2 in monitor/preempt_request.c */
	wf_store_relaxed(&other->exit_work, 0);
	wf_queue_put(machine_vp(0), higher, WF_READY_WOKEN);
	assert_int_equal(other->exit_work, 0);
	pass_ticks(1);
	assert_ptr_equal(running(0), other);
	pass_ticks(OTHERS_TICKS);
	assert_ptr_equal(running(0), higher);
}

/* THROTTLE-4: a boosted thread runs in spite of the throttling. */
static void test_boosted_while_throttled(void **state)
{
	struct wf_thread *fifo, *other, *third;

	machine_init(1);
	fifo = realtime_thread(SCHED_FIFO, 10);
	other = begin(fifo);
	third = machine_thread();
	machine_queue(machine_vp(0), third);
	pass_ticks(REALTIME_TICKS);
	assert_ptr_equal(running(0), other);
	other->rt_priority = 50;
	pass_ticks(1);
	assert_ptr_equal(running(0), third);
	pass_ticks(OTHERS_TICKS + 1);
	assert_ptr_equal(running(0), other);
}

/*
 * REALTIME-6 of realtime.c: the next slot's thread goes to a queue that other
 * VPs can steal from.
 */
static void test_laid_open(void **state)
{
	struct wf_vp *vp;
	struct wf_thread *woken;

	machine_init(2);
	vp = machine_vp(0);
	machine_run(vp, realtime_thread(SCHED_FIFO, 10));
	machine_run(machine_vp(1), machine_cpu_bound());
	woken = machine_thread();
	wf_queue_put(vp, woken, WF_READY_WOKEN);
	assert_int_equal(wf_runq_len(&vp->interactive), 0);
	/* The thread became stealable, was balanced, and was chosen. */
	pass_ticks(4);
	assert_true(machine_used(woken) > 0);
}

static void test_is_given_nothing(void **state)
{
	machine_init(2);
	machine_run(machine_vp(0), realtime_thread(SCHED_FIFO, 10));
	machine_run(machine_vp(1), machine_thread());
	for (int i = 0; i < 8; i++)
		machine_queue(machine_vp(1), machine_thread());
	pass_ticks(20);
	assert_int_equal(wf_inject_len(&machine_vp(0)->remote), 0);
	assert_int_equal(wf_queue_nr_interactive(machine_vp(0)) +
				 wf_queue_nr_batch(machine_vp(0)),
			 0);
}

/*
 * THROTTLE-2, with threads that block and wake at random. Two real-time threads
 * can always run. The other threads get a twentieth of the time, and no more
 * than they would use.
 */
static void test_at_random(void **state)
{
	enum { NR_OTHERS = 4, NR_TICKS = 50000 };
	struct test_random r = { test_seed() };
	struct wf_thread *others[NR_OTHERS];
	int64_t used = 0, most = NR_TICKS * (int64_t)TICK / 20;
	bool sleeps[NR_OTHERS] = { false };

	machine_init(1);
	others[0] = begin(realtime_thread(SCHED_FIFO, 10));
	machine_queue(machine_vp(0), realtime_thread(SCHED_RR, 10));
	for (int i = 1; i < NR_OTHERS; i++) {
		others[i] = machine_thread();
		machine_queue(machine_vp(0), others[i]);
	}
	for (int tick = 0; tick < NR_TICKS; tick++) {
		pass_ticks(1);
		for (int i = 0; i < NR_OTHERS; i++) {
			if (sleeps[i] && test_random(&r, 20) == 0) {
				sleeps[i] = false;
				machine_queue(machine_vp(0), others[i]);
			} else if (running(0) == others[i] &&
				   test_random(&r, 4) == 0) {
				sleeps[i] = true;
				machine_block(machine_vp(0));
			}
		}
	}
	for (int i = 0; i < NR_OTHERS; i++)
		used += machine_used(others[i]);
	assert_in_range(used, most * 9 / 10, most * 11 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_twentieth),
		cmocka_unit_test(test_beside_several),
		cmocka_unit_test(test_realtime_that_leaves_enough),
		cmocka_unit_test(test_ends_when_not_used),
		cmocka_unit_test(test_yield_while_throttled),
		cmocka_unit_test(test_by_itself),
		cmocka_unit_test(test_is_not_disturbed),
		cmocka_unit_test(test_boosted_while_throttled),
		cmocka_unit_test(test_laid_open),
		cmocka_unit_test(test_is_given_nothing),
		cmocka_unit_test(test_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
