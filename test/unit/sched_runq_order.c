/* SPDX-License-Identifier: MIT */
/*
 * src/sched/runq_order.c: the order of computing threads, with the real queues.
 * Each thread gets its share. It waits at most three slices longer than in a
 * fixed order, and each of the others follows it at some time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"
#include "random.h"

enum { MOST = 20, ROUNDS = 20000, LONGER = 3 };

static struct wf_thread *t[MOST];

static int index_of(const struct wf_thread *thread)
{
	int i = 0;

	while (t[i] != thread)
		i++;
	return i;
}

/* Yields like wf_switch_yield, and returns the next thread. */
static struct wf_thread *turn_of_next(struct wf_vp *vp)
{
	struct wf_thread *before = wf_load_relaxed(&vp->cur);
	struct wf_thread *next = wf_queue_pick(vp);

	assert_non_null(next);
	wf_store_relaxed(&vp->cur, next);
	wf_queue_put(vp, before, WF_READY_EXPIRED);
	return next;
}

static void check_turns(int nr, struct wf_thread *(*make)(void), uint64_t seed)
{
	int last[MOST] = { 0 }, turns[MOST] = { 0 };
	bool behind[MOST][MOST] = { 0 };
	struct wf_vp *vp;

	machine_init(1);
	vp = machine_vp(0);
	vp->interactive_order.drawn = seed;
	vp->batch_order.drawn = seed;
	for (int i = 0; i < nr; i++)
		t[i] = make();
	machine_run(vp, t[0]);
	for (int i = 1; i < nr; i++)
		machine_queue(vp, t[i]);
	for (int now = 1, was = 0; now <= nr * ROUNDS; now++) {
		int i = index_of(turn_of_next(vp));

		assert_true(now - last[i] <= nr + LONGER);
		behind[was][i] = true;
		last[i] = now;
		turns[i]++;
		was = i;
	}
	for (int i = 0; i < nr; i++) {
		assert_in_range(turns[i], ROUNDS - 1, ROUNDS + 1);
		for (int k = 0; k < nr; k++)
			assert_true(behind[i][k] || i == k || nr == 2);
	}
}

static void test_computing_thread(void **state)
{
	uint64_t seed = test_seed();

	for (int nr = 2; nr <= MOST; nr++)
		check_turns(nr, machine_cpu_bound, seed);
}

/* The order of threads that are preempted only by --preempt-every. */
static void test_others(void **state)
{
	uint64_t seed = test_seed();

	for (int nr = 2; nr <= MOST; nr++)
		check_turns(nr, machine_thread, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_computing_thread),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
