/* SPDX-License-Identifier: MIT */
/* src/os/mem.c: which memory is usable, which faults, and which is returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "guards.h"
#include "os/mem.h"

enum { PAGES = 8 };

static bool faults(char *p)
{
	return signal_of_write(p) == SIGSEGV;
}

static void test_opened_piece_by_piece(void **state)
{
	char *p = wf_os_reserve_closed(PAGES * WF_PAGE);

	assert_non_null(p);
	for (int i = 0; i < PAGES; i++) {
		assert_true(faults(p + i * WF_PAGE));
		assert_int_equal(wf_os_open(p + i * WF_PAGE, WF_PAGE, false),
				 0);
		assert_false(faults(p + i * WF_PAGE));
	}
	memset(p, 1, PAGES * WF_PAGE);
	wf_os_release(p, PAGES * WF_PAGE);
	assert_true(wf_os_open(p, WF_PAGE, false) < 0);
}

static void test_map_at(void **state)
{
	char *p = wf_os_reserve(2 * WF_PAGE);

	assert_non_null(p);
	*p = 7;
	/* Memory that is in use there stays unchanged. */
	assert_false(wf_os_map_at(p, WF_PAGE));
	assert_false(wf_os_map_at(p + WF_PAGE, WF_PAGE));
	assert_int_equal(*p, 7);
	wf_os_release(p + WF_PAGE, WF_PAGE);
	assert_true(wf_os_map_at(p + WF_PAGE, WF_PAGE));
	assert_int_equal(p[WF_PAGE], 0);
	p[WF_PAGE] = 1;
	assert_false(wf_os_map_at((char *)1, WF_PAGE));
	wf_os_release(p, 2 * WF_PAGE);
}

static void test_forget(void **state)
{
	char *p = wf_os_reserve(3 * WF_PAGE);

	memset(p, 1, 3 * WF_PAGE);
	wf_os_forget(p + WF_PAGE, WF_PAGE);
	assert_int_equal(p[WF_PAGE - 1], 1);
	assert_int_equal(p[WF_PAGE], 0);
	assert_int_equal(p[2 * WF_PAGE - 1], 0);
	assert_int_equal(p[2 * WF_PAGE], 1);
	wf_os_release(p, 3 * WF_PAGE);
}

/*
 * A guard faults with and without mlockall, for which the kernel needs another
 * call.
 */
static void test_guard(void **state)
{
	char *p = wf_os_reserve(3 * WF_PAGE);

	assert_int_equal(wf_os_guard(p + WF_PAGE, WF_PAGE), 0);
	assert_false(faults(p));
	assert_true(faults(p + WF_PAGE));
	assert_false(faults(p + 2 * WF_PAGE));
	wf_os_release(p, 3 * WF_PAGE);
}

static void test_guard_locked(void **state)
{
	char *p = wf_os_reserve(3 * WF_PAGE);

	if (mlock(p, 3 * WF_PAGE) != 0)
		skip();
	assert_int_equal(wf_os_guard(p + WF_PAGE, WF_PAGE), 0);
	assert_false(faults(p));
	assert_true(faults(p + WF_PAGE));
	assert_false(faults(p + 2 * WF_PAGE));
	wf_os_release(p, 3 * WF_PAGE);
}

static void test_regrow(void **state)
{
	char *p = wf_os_regrow(NULL, 0, WF_PAGE);

	assert_non_null(p);
	memset(p, 3, WF_PAGE);
	p = wf_os_regrow(p, WF_PAGE, 64 * WF_PAGE);
	assert_non_null(p);
	assert_int_equal(p[0], 3);
	assert_int_equal(p[WF_PAGE - 1], 3);
	memset(p, 4, 64 * WF_PAGE);
	wf_os_release(p, 64 * WF_PAGE);
}

static void test_address_limit(void **state)
{
	struct rlimit saved, limit;

	getrlimit(RLIMIT_AS, &saved);
	limit = saved;
	limit.rlim_cur = 1UL << 40;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_true(wf_os_address_limit() == 1UL << 40);
	assert_null(wf_os_reserve(1UL << 41));
	assert_null(wf_os_reserve_closed(1UL << 41));
	setrlimit(RLIMIT_AS, &saved);
	if (saved.rlim_cur == RLIM_INFINITY)
		assert_true(wf_os_address_limit() == SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opened_piece_by_piece),
		cmocka_unit_test(test_map_at),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_guard_locked),
		cmocka_unit_test(test_regrow),
		cmocka_unit_test(test_address_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
