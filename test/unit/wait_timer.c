/* SPDX-License-Identifier: MIT */
/*
 * src/wait/timer.c: deadlines on both clocks, with CLOCK_REALTIME set now and
 * then; and which VP a new deadline wakes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "os/deadline.h"
#include "random.h"
#include "sched/idle.h"
#include "sched/table.h"
#include "wait/timer.h"
#include "wait/ufutex_internal.h"

enum {
	NR_VPS = 2,
	NR_THREADS = 200,
	ERROR = 100, /* ns, of the measured offset of CLOCK_REALTIME */
};
#define BEGIN (1000 * WF_NS_PER_S)
#define WALL_AHEAD (1700000000LL * WF_NS_PER_S + 12345677)

struct wf_sched wf_sched;

static struct wf_vp vps[NR_VPS];
static struct wf_thread threads[NR_THREADS];
static int64_t now_ns, ahead_ns; /* the clocks' times */
static int nr_clock_reads, read_step_ns;
static bool was_woken[NR_VPS], monitor_was_woken;
static struct wf_thread *ended[NR_THREADS];
static int nr_ended;

/* --- what the heaps see of the rest -------------------------------------- */

static int read_clock(clockid_t clock, struct timespec *ret_time)
{
	nr_clock_reads++;
	now_ns += read_step_ns;
	*ret_time = wf_os_timespec(clock == CLOCK_REALTIME ? now_ns + ahead_ns :
							     now_ns);
	return 0;
}

uint32_t wf_table_room(void)
{
	return NR_THREADS;
}

bool wf_idle_wake(struct wf_vp *vp)
{
	was_woken[vp->id] = true;
	return true;
}

void wf_idle_wake_monitor(void)
{
	monitor_was_woken = true;
}

bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me)
{
	assert_int_equal(generation, t->wait_generation);
	assert_int_equal(result, -ETIMEDOUT);
	ended[nr_ended++] = t;
	return true;
}

/* --- short forms ---------------------------------------------------------- */

static void forget(void)
{
	nr_ended = 0;
	nr_clock_reads = 0;
	monitor_was_woken = false;
	memset(was_woken, 0, sizeof(was_woken));
}

static int begin(void **state)
{
	wf_os_clock_gettime = read_clock;
	now_ns = BEGIN;
	ahead_ns = WALL_AHEAD;
	read_step_ns = 10;
	memset(threads, 0, sizeof(threads));
	wf_sched.vps = vps;
	wf_sched.nr_vps = NR_VPS;
	for (uint32_t i = 0; i < NR_VPS; i++)
		vps[i].id = i;
	for (int i = 0; i < NR_THREADS; i++)
		threads[i].vp = &vps[i % NR_VPS];
	if (wf_timers_init() < 0)
		return -1;
	forget();
	return 0;
}

static int64_t wall_in(int64_t ns)
{
	return wf_deadline_of_wall(now_ns + ahead_ns + ns);
}

static int fire(uint32_t vp)
{
	nr_ended = 0;
	return (int)wf_timers_fire(&vps[vp], now_ns, NULL);
}

static void watch(void)
{
	wf_timers_set_watched(true);
	wf_timers_check_clock();
	forget();
}

/* --- cases ---------------------------------------------------------------- */

static void test_both_clocks(void **state)
{
	watch();
	wf_timer_add(&threads[0], now_ns + 3 * WF_NS_PER_MS);
	wf_timer_add(&threads[2], wall_in(2 * WF_NS_PER_MS));
	wf_timer_add(&threads[4], now_ns + WF_NS_PER_MS);
	assert_int_equal(nr_clock_reads, 0);
	assert_int_equal(fire(0), 0);
	now_ns += WF_NS_PER_MS + ERROR;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[4]);
	now_ns += WF_NS_PER_MS + ERROR;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[2]);
	now_ns += WF_NS_PER_MS + ERROR;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[0]);
	assert_true(wf_timers_earliest(&vps[0]) == INT64_MAX);
}

/*
 * A deadline never fires before its clock shows it, and fires at most ERROR ns
 * later.
 */
static void test_no_deadline_comes_early(void **state)
{
	for (int i = 0; i < 100; i++) {
		int64_t deadline, key;

		ahead_ns = WALL_AHEAD + i;
		wf_timers_check_clock();
		deadline = wall_in(1000 + i);
		key = wf_timer_add(&threads[0], deadline);
		assert_true(key + ahead_ns >= wf_deadline_time(deadline));
		assert_true(key + ahead_ns <=
			    wf_deadline_time(deadline) + ERROR);
		assert_true(wf_timers_earliest(&vps[0]) == key);
		wf_timer_remove(&threads[0]);
		key = wf_timer_add(&threads[0], now_ns + i);
		assert_true(key >= now_ns + i && key <= now_ns + i + 1);
		wf_timer_remove(&threads[0]);
	}
}

static void test_set_forward(void **state)
{
	watch();
	wf_timer_add(&threads[0], wall_in(10 * WF_NS_PER_S));
	wf_timer_add(&threads[2], now_ns + 5 * WF_NS_PER_S);
	wf_timer_add(&threads[1], now_ns + 5 * WF_NS_PER_S);
	ahead_ns += 8 * WF_NS_PER_S;
	wf_timers_check_clock();
	assert_true(was_woken[0] && !was_woken[1] && monitor_was_woken);
	assert_int_equal(fire(0), 0);
	now_ns += 2 * WF_NS_PER_S;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[0]);
	forget();
	now_ns += 3 * WF_NS_PER_S;
	assert_int_equal(fire(0), 1);
	assert_int_equal(fire(1), 1);
	assert_int_equal(nr_clock_reads, 0);
}

/* The clock is set far beyond the deadline, and beyond the range of clocks. */
static void test_set_too_far(void **state)
{
	static const int64_t leaps[] = { WALL_AHEAD, INT64_MAX / 4 };

	for (int i = 0; i < 2; i++) {
		begin(NULL);
		watch();
		wf_timer_add(&threads[0], wall_in(WF_NS_PER_S));
		wf_timer_add(&threads[1], wf_deadline_of_wall(INT64_MAX - 1));
		ahead_ns += leaps[i];
		wf_timers_check_clock();
		assert_true(wf_timers_earliest(&vps[0]) >= 0);
		assert_int_equal(fire(0), 1);
		assert_int_equal(fire(1), 0);
	}
}

static void test_a_time_long_past(void **state)
{
	wf_timer_add(&threads[0], wf_deadline_of_wall(-5));
	wf_timer_add(&threads[2], wf_deadline_of_wall(0));
	assert_true(wf_timers_earliest(&vps[0]) >= 0);
	assert_int_equal(fire(0), 2);
}

/* The clock is set back, and no watcher has noticed it yet. */
static void test_set_back(void **state)
{
	watch();
	wf_timer_add(&threads[0], wall_in(WF_NS_PER_S));
	wf_timer_add(&threads[2], now_ns + WF_NS_PER_S);
	wf_timer_add(&threads[1], wall_in(2 * WF_NS_PER_S));
	ahead_ns -= 10 * WF_NS_PER_S;
	now_ns += WF_NS_PER_S + ERROR;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[2]);
	assert_true(!was_woken[0] && !was_woken[1] && !monitor_was_woken);
	now_ns += 9 * WF_NS_PER_S;
	assert_int_equal(fire(0), 0);
	now_ns += WF_NS_PER_S + ERROR;
	assert_int_equal(fire(0), 1);
	assert_int_equal(fire(1), 0);
	now_ns += WF_NS_PER_S;
	assert_int_equal(fire(1), 1);
}

static void test_set_to_and_fro(void **state)
{
	watch();
	wf_timer_add(&threads[0], wall_in(WF_NS_PER_S));
	for (int i = 0; i < 100; i++) {
		ahead_ns += i % 2 == 0 ? -WF_NS_PER_S : WF_NS_PER_S;
		wf_timers_check_clock();
		assert_int_equal(fire(0), 0);
	}
	now_ns += WF_NS_PER_S;
	assert_int_equal(fire(0), 1);
}

/* The clock was not set: heaps stay unchanged, and no VP is woken. */
static void test_not_set(void **state)
{
	int64_t key = wf_timer_add(&threads[0], wall_in(WF_NS_PER_S));

	watch();
	for (int i = 0; i < 100; i++) {
		/* a read takes as long as at the start, or longer */
		read_step_ns = 10 + i;
		wf_timers_check_clock();
	}
	assert_true(wf_timers_earliest(&vps[0]) == key);
	assert_true(!was_woken[0] && !monitor_was_woken);
}

/*
 * If no watcher notices changes of CLOCK_REALTIME, each wait until a time of
 * that clock checks the clock. The first such wait asks for a watcher.
 */
static void test_unwatched(void **state)
{
	assert_false(wf_timers_want_watch());
	wf_timer_add(&threads[0], now_ns + WF_NS_PER_S);
	assert_false(wf_timers_want_watch());
	assert_int_equal(nr_clock_reads, 0);
	wf_timer_add(&threads[2], wall_in(10 * WF_NS_PER_S));
	assert_true(wf_timers_want_watch());
	assert_true(monitor_was_woken && nr_clock_reads > 0);
	forget();
	ahead_ns += 10 * WF_NS_PER_S;
	wf_timer_add(&threads[1], wall_in(20 * WF_NS_PER_S));
	assert_true(was_woken[0] && !was_woken[1]);
	now_ns += ERROR;
	assert_int_equal(fire(0), 1);
	assert_ptr_equal(ended[0], &threads[2]);
}

/* A model computes by each deadline's clock when it is due. */
static void test_against_model(void **state)
{
	enum { NR_ROUNDS = 20000 };
	struct test_random random = { .state = test_seed() };
	int64_t deadlines[NR_THREADS] = { 0 };

	watch();
	for (int round = 0; round < NR_ROUNDS; round++) {
		uint32_t i = test_random(&random, NR_THREADS);
		int64_t in = (int64_t)test_random(&random, 1000) * WF_NS_PER_MS;

		if (threads[i].timer_index != 0)
			wf_timer_remove(&threads[i]);
		deadlines[i] = i % 3 == 0 ? wall_in(in) : now_ns + in;
		wf_timer_add(&threads[i], deadlines[i]);
		now_ns += test_random(&random, WF_NS_PER_MS);
		if (round % 64 == 0) {
			ahead_ns += (int64_t)test_random(&random, 900) *
					    WF_NS_PER_MS -
				    450 * WF_NS_PER_MS;
			wf_timers_check_clock();
		}
		now_ns += 1000; /* no key is later than this */
		fire(0);
		for (i = 0; i < NR_THREADS; i += NR_VPS)
			if (threads[i].timer_index != 0)
				assert_true(wf_deadline_left(deadlines[i]) >
					    -2000);
		for (int n = 0; n < nr_ended; n++)
			assert_true(wf_deadline_is_over(
				deadlines[ended[n] - threads]));
		fire(1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_both_clocks, begin),
		cmocka_unit_test_setup(test_no_deadline_comes_early, begin),
		cmocka_unit_test_setup(test_set_forward, begin),
		cmocka_unit_test_setup(test_set_too_far, begin),
		cmocka_unit_test_setup(test_a_time_long_past, begin),
		cmocka_unit_test_setup(test_set_back, begin),
		cmocka_unit_test_setup(test_set_to_and_fro, begin),
		cmocka_unit_test_setup(test_not_set, begin),
		cmocka_unit_test_setup(test_unwatched, begin),
		cmocka_unit_test_setup(test_against_model, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
