/* src/boot/tick.c: do threads run for long enough to wake a VP for each? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"

enum { TICK = MACHINE_TICK };

static struct wf_vp *one_vp(void)
{
	machine_init(1);
	return machine_vp(0);
}

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

/* A wake costs 25 us here, so more than 50 is long. */
static void test_run_length(void **state)
{
	struct wf_vp *vp = one_vp();

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

/* What sleeping and waking use is not the threads'. */
static void test_sleeps_are_no_run_length(void **state)
{
	struct wf_vp *vp = one_vp();

	machine_run(vp, machine_thread());
	pass_tick();
	for (int i = 0; i < 10; i++)
		wf_count_own(&vp->counters, sleeps);
	count_switches(vp, 10);
	pass_tick();
	assert_false(runs_long(vp));
}

/* While it is idle there is only the wall clock to go by. */
static void test_idle_vp(void **state)
{
	struct wf_vp *vp = one_vp();

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

/* Nor is a thread charged with what its VP has polled before. */
static void test_polling_is_not_charged(void **state)
{
	struct wf_vp *vp = one_vp();
	struct wf_thread *t = machine_thread();

	machine_run(vp, t);
	count_switches(vp, 1);
	wf_store_relaxed(&vp->polled_ns, TICK * 99 / 100);
	pass_tick();
	assert_false(t->hog);
	assert_false(runs_long(vp));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_length),
		cmocka_unit_test(test_sleeps_are_no_run_length),
		cmocka_unit_test(test_idle_vp),
		cmocka_unit_test(test_polling_is_not_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
