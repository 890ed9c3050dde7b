/* SPDX-License-Identifier: MIT */
/*
 * src/sched/idle.c: which VP a wake chooses, and which idle VP polls for work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "os/futex.h"
#include "base/options.h"
#include "sched/idle.h"
#include "sched/realtime.h"

struct wf_counters wf_counters;

static const _Atomic uint32_t *woken; /* the word of the last wake */
static int nr_woken;

int wf_os_futex_wake(_Atomic uint32_t *word, int nr)
{
	woken = word;
	nr_woken++;
	return nr;
}

int wf_os_futex_wake_shared(_Atomic uint32_t *word, int nr)
{
	return wf_os_futex_wake(word, nr);
}

bool wf_realtime_waits(uint32_t least_priority)
{
	return false;
}

static struct wf_vp *vps;

static int set_up(void **state)
{
	wf_sched.vps = NULL;
	wf_idle_reset();
	wf_store_relaxed(&wf_sched.wait_policy, WF_WAIT_ADAPTIVE);
	wf_store_relaxed(&wf_sched.most_pollers, 1);
	nr_woken = 0;
	if (wf_vps_init(3) < 0)
		return -1;
	vps = wf_sched.vps;
	return 0;
}

static void inject(uint64_t entry)
{
	wf_inject_push(&wf_sched.inject, &entry, 1);
}

static void sleepers_are_woken_once(void **state)
{
	assert_false(wf_idle_wake_sleeper());
	wf_idle_begin(&vps[1]);
	assert_true(wf_idle_is_any());
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 1);
	assert_ptr_equal(woken, &vps[1].wake_word);
	assert_int_equal(vps[1].wake_word, 1);
	assert_false(wf_idle_is_any());
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 1);
	assert_false(wf_idle_end(&vps[1]));
}

static void one_of_all_sleeps_on(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_begin(&vps[1]);
	wf_idle_begin(&vps[2]);
	assert_true(wf_idle_wake(&vps[1]));
	assert_ptr_equal(woken, &vps[1].wake_word);
	assert_false(wf_idle_wake(&vps[1]));
	assert_true(wf_idle_end(&vps[0]));
	wf_idle_wake_any();
	assert_ptr_equal(woken, &vps[2].wake_word);
	assert_int_equal(nr_woken, 2);
}

/* OFFLINE-2: no thread counts on an offline VP; its own work wakes it. */
static void offline_vps_take_no_work(void **state)
{
	atomic_fetch_or(&vps[1].pending, WF_PENDING_OFFLINE);
	wf_idle_begin(&vps[1]);
	assert_false(wf_idle_is_any());
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 0);
	assert_true(wf_idle_wake(&vps[1]));
	assert_ptr_equal(woken, &vps[1].wake_word);
	assert_false(wf_idle_end(&vps[1]));
	assert_false(wf_idle_poll_begin(&vps[1]));
}

/* A VP that goes offline in the idle list leaves the list when it is woken. */
static void sleepers_go_offline(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_begin(&vps[1]);
	atomic_fetch_or(&vps[0].pending, WF_PENDING_OFFLINE);
	assert_true(wf_idle_wake(&vps[0]));
	wf_idle_begin(&vps[0]);
	assert_true(wf_idle_wake_sleeper());
	assert_ptr_equal(woken, &vps[1].wake_word);
	assert_false(wf_idle_is_any());
}

static void one_poller(void **state)
{
	assert_true(wf_idle_poll_begin(&vps[0]));
	assert_true(wf_idle_is_any());
	assert_false(wf_idle_poll_begin(&vps[1]));
	wf_idle_poll_end(&vps[0]);
	assert_false(wf_idle_is_any());
	assert_true(wf_idle_poll_begin(&vps[1]));
	assert_int_equal(vps[0].counters.polls, 1);
	assert_int_equal(vps[1].counters.polls, 1);
}

static void two_pollers(void **state)
{
	wf_store_relaxed(&wf_sched.most_pollers, 2);
	assert_true(wf_idle_poll_begin(&vps[0]));
	assert_true(wf_idle_poll_begin(&vps[1]));
	assert_false(wf_idle_poll_begin(&vps[2]));
	wf_idle_begin(&vps[2]);
	wf_idle_poll_end(&vps[0]);
	/* The other poller gets no message; it finds the work by its polls. */
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 0);
	wf_idle_poll_leave(&vps[1]);
	assert_int_equal(vps[1].counters.hits, 1);
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 1);
}

static void no_wake_beside_a_poller(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_poll_begin(&vps[1]);
	wf_idle_wake_any();
	assert_int_equal(nr_woken, 0);
	/* A wake of one particular VP is not left to the poller. */
	assert_true(wf_idle_wake(&vps[0]));
	assert_int_equal(nr_woken, 1);
	assert_false(wf_idle_wake(&vps[1]));
	assert_int_equal(nr_woken, 1);
}

static void leaves_with_nothing_more(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_poll_begin(&vps[1]);
	wf_store_relaxed(&wf_sched.stealable, WF_STEALABLE_SOME);
	wf_idle_poll_leave(&vps[1]);
	assert_int_equal(nr_woken, 0);
	assert_int_equal(wf_load_relaxed(&wf_sched.nr_pollers), 0);
	assert_int_equal(vps[1].counters.hits, 1);
	assert_int_equal(vps[1].counters.hand_overs, 0);
}

static void hands_over_injected_threads(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_poll_begin(&vps[1]);
	inject(7);
	wf_idle_poll_leave(&vps[1]);
	assert_ptr_equal(woken, &vps[0].wake_word);
	assert_int_equal(nr_woken, 1);
	assert_int_equal(vps[1].counters.hand_overs, 1);
}

static void hands_over_if_worth_a_wake(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_poll_begin(&vps[1]);
	wf_store_relaxed(&wf_sched.stealable, WF_STEALABLE_MANY);
	wf_idle_poll_leave(&vps[1]);
	assert_int_equal(nr_woken, 1);
}

/* The VP was about to sleep and found work in its last poll. */
static void hands_over_after_the_role(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_poll_begin(&vps[1]);
	wf_idle_poll_end(&vps[1]);
	wf_idle_begin(&vps[1]);
	inject(7);
	wf_idle_end(&vps[1]);
	wf_idle_poll_leave(&vps[1]);
	assert_ptr_equal(woken, &vps[0].wake_word);
	assert_int_equal(vps[1].counters.hits, 0);
	assert_int_equal(vps[1].counters.hand_overs, 1);
}

static void no_hand_over_without_an_idle_vp(void **state)
{
	wf_idle_poll_begin(&vps[1]);
	inject(7);
	wf_idle_poll_leave(&vps[1]);
	assert_int_equal(nr_woken, 0);
	assert_int_equal(vps[1].counters.hand_overs, 0);
}

static void the_tick_sees_to_a_poller(void **state)
{
	wf_idle_begin(&vps[0]);
	wf_idle_check_poller();
	assert_int_equal(nr_woken, 0);
	wf_store_relaxed(&wf_sched.wait_policy, WF_WAIT_POLL);
	wf_idle_poll_begin(&vps[1]);
	wf_idle_check_poller();
	assert_int_equal(nr_woken, 0);
	wf_idle_poll_leave(&vps[1]);
	wf_idle_check_poller();
	assert_int_equal(nr_woken, 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sleepers_are_woken_once),
		TEST(one_of_all_sleeps_on),
		TEST(offline_vps_take_no_work),
		TEST(sleepers_go_offline),
		TEST(one_poller),
		TEST(two_pollers),
		TEST(no_wake_beside_a_poller),
		TEST(leaves_with_nothing_more),
		TEST(hands_over_injected_threads),
		TEST(hands_over_if_worth_a_wake),
		TEST(hands_over_after_the_role),
		TEST(no_hand_over_without_an_idle_vp),
		TEST(the_tick_sees_to_a_poller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
