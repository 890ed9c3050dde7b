/* SPDX-License-Identifier: MIT */
/* src/sched/offline.c: which VPs go offline, and where their threads go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

#include "fake_machine.h"
#include "sched/entry.h"
#include "sched/offline.h"
#include "sched/realtime.h"

enum { NR = 3 };

static struct wf_thread *t[NR];

static void begin(uint32_t nr_vps, uint32_t nr_cpus)
{
	machine_init(nr_vps);
	machine.nr_cpus = nr_cpus;
	wf_store_relaxed(&wf_counters.offline, 0);
	for (int i = 0; i < NR; i++)
		t[i] = machine_thread();
}

static struct wf_thread *make_realtime(struct wf_thread *thread)
{
	thread->sched_policy = SCHED_FIFO;
	thread->rt_priority = 10;
	return thread;
}

static void test_begins_with_a_realtime_thread(void **state)
{
	begin(3, 2);
	machine_queue(machine_vp(0), t[0]);
	for (uint32_t i = 0; i < 3; i++)
		assert_false(wf_vp_is_offline(machine_vp(i)));
	machine_queue(machine_vp(0), make_realtime(t[1]));
	assert_false(wf_vp_is_offline(machine_vp(0)));
	assert_false(wf_vp_is_offline(machine_vp(1)));
	assert_true(wf_vp_is_offline(machine_vp(2)));
	assert_int_equal(wf_load_relaxed(&wf_counters.offline), 1);
}

static void test_enough_cpus(void **state)
{
	begin(2, 2);
	machine_queue(machine_vp(0), make_realtime(t[0]));
	assert_false(wf_vp_is_offline(machine_vp(1)));
	assert_int_equal(wf_load_relaxed(&wf_counters.offline), 0);
}

static void test_gives_all_away(void **state)
{
	struct wf_vp *vp;
	uint64_t entry;

	begin(2, 1);
	vp = machine_vp(1);
	wf_queue_put(vp, t[0], WF_READY_WOKEN);
	wf_queue_put(vp, t[1], WF_READY_YIELDED);
	entry = wf_entry_started(t[2]);
	wf_queue_push_remote(vp, &entry, 1);
	wf_offline_begin();
	assert_true(wf_queue_has_work(vp));
	assert_null(wf_queue_pick(vp));
	assert_false(wf_queue_has_work(vp));
	assert_int_equal(wf_inject_len(&wf_sched.inject), NR);
	for (int i = 0; i < NR; i++)
		assert_non_null(wf_queue_pick(machine_vp(0)));
}

/* OFFLINE-3: a thread that runs on an offline VP is preempted. */
static void test_running_thread_is_preempted(void **state)
{
	struct wf_vp *vp;

	begin(2, 1);
	vp = machine_vp(1);
	machine_run(machine_vp(0), t[0]);
	machine_run(vp, t[1]);
	assert_false(wf_offline_is_pending());
	wf_offline_begin();
	assert_true(wf_offline_is_pending());
	wf_tick_realtime(machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_null(wf_load_relaxed(&vp->cur));
	assert_false(wf_offline_is_pending());
	assert_null(wf_queue_pick(vp));
	machine_block(machine_vp(0));
	assert_ptr_equal(wf_load_relaxed(&machine_vp(0)->cur), t[1]);
}

/* A waiting real-time thread gets an online VP, not the offline one. */
static void test_is_no_victim(void **state)
{
	begin(2, 1);
	machine_run(machine_vp(0), make_realtime(t[0]));
	machine_run(machine_vp(1), t[1]);
	wf_offline_begin();
	t[2]->rt_priority = 5;
	machine_queue(machine_vp(0), t[2]);
	assert_null(wf_realtime_victim());
	t[0]->rt_priority = 1;
	assert_ptr_equal(wf_realtime_victim(), machine_vp(0));
	assert_null(wf_queue_pick(machine_vp(1)));
}

static void test_is_given_nothing(void **state)
{
	begin(2, 1);
	machine_run(machine_vp(0), machine_cpu_bound());
	machine_run(machine_vp(1), t[0]);
	for (int i = 0; i < 8; i++)
		machine_queue(machine_vp(0), machine_cpu_bound());
	wf_offline_begin();
	machine_pass_ticks(20);
	assert_int_equal(wf_inject_len(&machine_vp(1)->remote), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_begins_with_a_realtime_thread),
		cmocka_unit_test(test_enough_cpus),
		cmocka_unit_test(test_gives_all_away),
		cmocka_unit_test(test_running_thread_is_preempted),
		cmocka_unit_test(test_is_no_victim),
		cmocka_unit_test(test_is_given_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
