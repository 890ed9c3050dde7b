/* SPDX-License-Identifier: MIT */
/* src/base/rank.c: which locks a thread may take, and which it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/spin.h"

static jmp_buf aborted;
static char last[256];

void wf_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last, sizeof(last), fmt, ap);
	va_end(ap);
}

void wf_panic(const char *func, const char *what)
{
	longjmp(aborted, 1);
}

/* Does a thread that holds `held` panic when it takes `rank`? */
static bool is_refused(enum wf_rank held, enum wf_rank rank)
{
	struct wf_spin first = WF_SPIN_INIT, second = WF_SPIN_INIT;

	if (held != WF_RANK_NONE)
		wf_spin_lock(&first, held);
	if (setjmp(aborted) != 0) {
		wf_ranks_carried(0);
		return true;
	}
	wf_spin_lock(&second, rank);
	wf_spin_unlock(&second);
	if (held != WF_RANK_NONE)
		wf_spin_unlock(&first);
	assert_int_equal(wf_ranks_held(), 0);
	return false;
}

static void test_only_later_ranks(void **state)
{
	for (enum wf_rank held = 0; held < WF_NR_RANKS; held++) {
		for (enum wf_rank rank = 1; rank < WF_NR_RANKS; rank++)
			assert_int_equal(is_refused(held, rank), rank <= held);
	}
	assert_true(is_refused(WF_RANK_IDLE, WF_RANK_CLONE));
	assert_string_equal(last, "lock CLONE is taken by a thread that holds "
				  "IDLE");
}

static void test_a_tried_lock_may_be_of_any_rank(void **state)
{
	struct wf_spin late = WF_SPIN_INIT, early = WF_SPIN_INIT;

	wf_spin_lock(&late, WF_RANK_IDLE);
	assert_true(wf_spin_trylock(&early, WF_RANK_START));
	assert_false(wf_spin_trylock(&early, WF_RANK_START));
	wf_spin_unlock(&early);
	assert_int_equal(wf_ranks_held(), UINT64_C(1) << WF_RANK_IDLE);
	wf_spin_unlock(&late);
	assert_int_equal(wf_ranks_held(), 0);
}

static void *holds_nothing(void *arg)
{
	return (void *)(uintptr_t)wf_ranks_held();
}

static void test_each_thread_has_its_own(void **state)
{
	struct wf_spin lock = WF_SPIN_INIT;
	pthread_t thread;
	void *held;

	wf_spin_lock(&lock, WF_RANK_IDLE);
	assert_int_equal(pthread_create(&thread, NULL, holds_nothing, NULL), 0);
	assert_int_equal(pthread_join(thread, &held), 0);
	assert_null(held);
	/* After a switch the incoming thread releases the lock. */
	wf_ranks_carried(0);
	wf_ranks_carried(UINT64_C(1) << WF_RANK_IDLE);
	wf_spin_unlock(&lock);
	assert_int_equal(wf_ranks_held(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_later_ranks),
		cmocka_unit_test(test_a_tried_lock_may_be_of_any_rank),
		cmocka_unit_test(test_each_thread_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
