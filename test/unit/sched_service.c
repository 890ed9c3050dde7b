/* SPDX-License-Identifier: MIT */
/*
 * src/sched/service.c: starts and stops of services; kernel threads are only
 * counted. A service that is being stopped must not start, because another
 * service may be about to start it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "libc/tcb.h"
#include "os/kthread.h"
#include "sched/service.h"

static int nr_started, nr_awaited;
static bool stays; /* does the kernel thread stay? */
static struct wf_thread self;
static _Atomic int tid;

size_t wf_tcb_minimal_bytes(void)
{
	return 1;
}

uintptr_t wf_tcb_minimal_make(void *block, struct wf_thread *owner)
{
	return (uintptr_t)block;
}

int wf_os_kthread_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp, _Atomic uint32_t *clear)
{
	return ++nr_started;
}

bool wf_os_kthread_await_end(int id, void (*wake)(void))
{
	assert_int_equal(id, tid);
	assert_true(wf_service_is_dismissed(&tid));
	nr_awaited++;
	return !stays;
}

static void run(void *arg)
{
}

static int set_up(void **state)
{
	nr_started = nr_awaited = 0;
	stays = false;
	return 0;
}

static int tear_down(void **state)
{
	stays = false;
	wf_service_dismiss(&tid, NULL);
	return 0;
}

static void starts_once(void **state)
{
	assert_int_equal(wf_service_start(run, &self, &tid), 0);
	assert_int_equal(wf_service_start(run, &self, &tid), 0);
	assert_int_equal(nr_started, 1);
	assert_int_equal(tid, 1);
	assert_false(wf_service_is_dismissed(&tid));
}

static void starts_again_after_a_dismissal(void **state)
{
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(wf_service_start(run, &self, &tid), 0);
		assert_false(wf_service_is_dismissed(&tid));
		assert_int_equal(nr_started, i);
		assert_true(wf_service_dismiss(&tid, NULL));
		assert_int_equal(nr_awaited, i);
		assert_int_equal(tid, 0);
	}
}

static void what_is_being_dismissed_does_not_start(void **state)
{
	wf_service_dismiss_begin(&tid);
	assert_int_equal(wf_service_start(run, &self, &tid), -ECANCELED);
	assert_int_equal(nr_started, 0);
	assert_int_equal(tid, 0);
	assert_true(wf_service_dismiss(&tid, NULL));
	assert_int_equal(nr_awaited, 0);
	assert_int_equal(wf_service_start(run, &self, &tid), 0);
}

static void running_service_stays_dismissed(void **state)
{
	assert_int_equal(wf_service_start(run, &self, &tid), 0);
	wf_service_dismiss_begin(&tid);
	assert_int_equal(wf_service_start(run, &self, &tid), 0);
	assert_true(wf_service_is_dismissed(&tid));
	stays = true;
	assert_false(wf_service_dismiss(&tid, NULL));
	assert_true(wf_service_is_dismissed(&tid));
	assert_int_equal(tid, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(starts_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(starts_again_after_a_dismissal,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_is_being_dismissed_does_not_start, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(running_service_stays_dismissed,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
