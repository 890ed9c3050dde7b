/* SPDX-License-Identifier: MIT */
/*
 * src/sched/requeue.c: a thread in each of the queues becomes real-time and
 * runs next. The other threads in the queue keep their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>

#include "fake_machine.h"
#include "sched/entry.h"
#include "sched/realtime.h"
#include "sched/requeue.h"

enum { NR = 9, PRIORITY = 10 };

static struct wf_thread *t[NR];
static struct wf_thread outside; /* a kernel thread without a VP */

/* vp runs a thread, and NR threads wait in one of its queues. */
static struct wf_vp *begin(uint32_t nr_vps, bool computes)
{
	machine_init(nr_vps);
	wf_self = &outside;
	for (int i = 0; i < NR; i++)
		t[i] = computes ? machine_cpu_bound() : machine_thread();
	machine_run(machine_vp(0), machine_cpu_bound());
	return machine_vp(0);
}

static struct wf_thread *next_of(struct wf_vp *vp)
{
	machine_block(vp);
	return wf_load_relaxed(&vp->cur);
}

static void make_realtime(struct wf_thread *thread)
{
	thread->sched_policy = SCHED_FIFO;
	wf_realtime_set(thread, PRIORITY);
}

/*
 * The thread from the middle of the queue is first; then the others in order.
 */
static void check_order(struct wf_vp *vp)
{
	assert_ptr_equal(next_of(vp), t[NR / 2]);
	for (int i = 0; i < NR; i++) {
		if (i != NR / 2)
			assert_ptr_equal(next_of(vp), t[i]);
	}
	assert_null(next_of(vp));
}

static void test_in_interactive(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++)
		machine_queue(vp, t[i]);
	make_realtime(t[NR / 2]);
	check_order(vp);
}

static void test_in_batch(void **state)
{
	struct wf_vp *vp = begin(1, true);

	for (int i = 0; i < NR; i++)
		machine_queue(vp, t[i]);
	make_realtime(t[NR / 2]);
	check_order(vp);
}

static void test_in_the_injection_queue(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++)
		wf_queue_put_remote(NULL, t[i], WF_READY_WOKEN);
	make_realtime(t[NR / 2]);
	check_order(vp);
}

static void test_in_a_remote_queue(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++)
		wf_queue_put_remote(vp, t[i], WF_READY_WOKEN);
	make_realtime(t[NR / 2]);
	check_order(vp);
}

static void test_just_woken(void **state)
{
	struct wf_vp *vp = begin(1, false);

	machine_queue(vp, t[0]);
	wf_queue_put(vp, t[1], WF_READY_WOKEN);
	make_realtime(t[0]);
	make_realtime(t[1]);
	/* higher priority, so it is first */
	assert_ptr_equal(next_of(vp), t[1]);
	assert_ptr_equal(next_of(vp), t[0]);
}

static void test_never_ran(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++) {
		t[i]->generation = 1;
		wf_store_relaxed(&t[i]->not_started, 1 | WF_NOT_STARTED_BIT);
		wf_queue_put(vp, t[i], WF_READY_NEW);
	}
	make_realtime(t[NR / 2]);
	check_order(vp);
	assert_int_equal(wf_load_relaxed(&t[NR / 2]->not_started), 0);
}

/* Several threads become real-time, and run by priority. */
static void test_several(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++)
		machine_queue(vp, t[i]);
	for (int i = 0; i < NR; i += 2)
		wf_realtime_set(t[i], PRIORITY + i);
	for (int i = NR - 1; i >= 0; i -= 2)
		assert_ptr_equal(next_of(vp), t[i]);
	for (int i = 1; i < NR; i += 2)
		assert_ptr_equal(next_of(vp), t[i]);
}

/*
 * If the VP runs a computing thread, the monitor preempts that thread at once.
 */
static void test_beside_a_computing_thread(void **state)
{
	struct wf_vp *vp = begin(2, false);

	machine_run(machine_vp(1), machine_cpu_bound());
	for (int i = 0; i < NR; i++)
		machine_queue(vp, t[i]);
	make_realtime(t[NR / 2]);
	assert_true(wf_requeue_is_urgent(vp));
	assert_false(wf_requeue_is_urgent(machine_vp(1)));
	wf_tick_realtime(machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
	assert_true(machine_switch(vp));
	assert_ptr_equal(wf_load_relaxed(&vp->cur), t[NR / 2]);
	assert_false(wf_requeue_is_urgent(vp));
	wf_tick_realtime(machine.now_ns);
	assert_int_equal(machine.nr_signals, 1);
}

/* The calling thread runs on the same VP, and gets the request itself. */
static void test_own_vp(void **state)
{
	struct wf_vp *vp = begin(1, false);

	for (int i = 0; i < NR; i++)
		machine_queue(vp, t[i]);
	wf_self = wf_load_relaxed(&vp->cur);
	make_realtime(t[NR / 2]);
	assert_int_equal(wf_vp_asked(vp), WF_RESCHED_REALTIME);
	assert_true(wf_realtime_waits(PRIORITY));
	wf_self = &outside;
	check_order(vp);
}

/* A waiting or running thread is in no queue. */
static void test_not_in_a_queue(void **state)
{
	static char bucket;
	struct wf_vp *vp = begin(1, false);

	machine_queue(vp, t[0]);
	wf_store_relaxed(&t[1]->wait_bucket, (struct wf_bucket *)&bucket);
	make_realtime(t[1]);
	make_realtime(wf_load_relaxed(&vp->cur));
	assert_int_equal(wf_load_relaxed(&vp->pending), 0);
	assert_ptr_equal(next_of(vp), t[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_interactive),
		cmocka_unit_test(test_in_batch),
		cmocka_unit_test(test_in_the_injection_queue),
		cmocka_unit_test(test_in_a_remote_queue),
		cmocka_unit_test(test_just_woken),
		cmocka_unit_test(test_never_ran),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_beside_a_computing_thread),
		cmocka_unit_test(test_own_vp),
		cmocka_unit_test(test_not_in_a_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
