/* SPDX-License-Identifier: MIT */
/*
 * src/wait/word_table.c: each slot is handed out once, and chains are complete.
 * Free and muted slots never match. The kernel's search finds the same as the
 * CPU's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "random.h"
#include "wait/word_table.h"

enum { SLOTS = 100, ROUNDS = 2000 };

static uint64_t values[SLOTS];
static uint32_t numbers[SLOTS];
static struct wf_thread *const somebody = (struct wf_thread *)&values;

static void arm(int i)
{
	const struct wf_arch_slot what = { &values[i], UINT64_MAX, values[i],
					   NULL };

	wf_word_slot_arm_locked(numbers[i], &values[i], somebody, &what, false,
				false);
}

static int set_up(void **state)
{
	memset(values, 0, sizeof(values));
	for (int i = 0; i < SLOTS; i++) {
		numbers[i] = wf_word_slots_get(1);
		arm(i);
	}
	return 0;
}

static int tear_down(void **state)
{
	wf_word_table_fork_child();
	return 0;
}

static uint32_t find(uint32_t from, bool can_fault)
{
	bool faulted;
	uint32_t n = wf_word_slot_find(from,
				       wf_load_acquire(&wf_word_table.high),
				       can_fault, &faulted);

	assert_false(faulted);
	return n;
}

static void each_is_handed_out_once(void **state)
{
	for (int i = 0; i < SLOTS; i++) {
		assert_int_not_equal(numbers[i], 0);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(numbers[i], numbers[k]);
	}
}

static void chains(void **state)
{
	uint32_t first = wf_word_slots_get(7), high, nr = 0;

	for (uint32_t n = first; n != 0; n = wf_word_table.infos[n].next)
		nr++;
	assert_int_equal(nr, 7);
	high = wf_load_relaxed(&wf_word_table.high);
	wf_word_slots_put(first);
	assert_int_not_equal(wf_word_slots_get(7), 0);
	assert_int_equal(wf_load_relaxed(&wf_word_table.high), high);
}

static void a_poll_is_as_long_as_many_wait(void **state)
{
	uint32_t high = wf_load_relaxed(&wf_word_table.high);
	uint32_t many = wf_word_slots_get(1000), one = wf_word_slots_get(1);

	assert_true(wf_load_relaxed(&wf_word_table.high) >= high + 1001);
	wf_word_slots_put(many);
	assert_int_equal(wf_load_relaxed(&wf_word_table.high), one + 1);
	wf_word_slots_put(one);
	assert_int_equal(wf_load_relaxed(&wf_word_table.high), high);
	/* The lowest free slot is reused first. */
	wf_word_slots_put(numbers[10]);
	assert_int_equal(wf_word_slots_get(1), numbers[10]);
}

static void more_than_there_are(void **state)
{
	uint32_t first;

	assert_int_equal(wf_word_slots_get((size_t)WF_WORD_SLOTS_MAX + 1), 0);
	first = wf_word_slots_get(WF_WORD_SLOTS_MAX / 2);
	assert_int_not_equal(first, 0);
	wf_word_slots_put(first);
}

static void both_ways_agree(void **state)
{
	struct test_random r = { test_seed() };
	uint32_t high = wf_load_acquire(&wf_word_table.high);

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t from = 1 + test_random(&r, high);
		int k = (int)test_random(&r, SLOTS);

		if (test_random(&r, 2) == 0)
			values[k]++;
		else
			arm(k);
		assert_int_equal(find(1, true), find(1, false));
		assert_int_equal(find(from, true), find(from, false));
	}
}

static void muted_and_free_ones_are_no_hits(void **state)
{
	uint32_t high = wf_load_acquire(&wf_word_table.high);

	values[3] = values[4] = 1;
	assert_int_equal(find(1, true), numbers[3]);
	wf_word_slot_mute_locked(numbers[3]);
	assert_int_equal(find(1, true), numbers[4]);
	assert_ptr_equal(wf_word_slot_waiter(numbers[3]), somebody);
	wf_word_slot_disarm_locked(numbers[4]);
	assert_null(wf_word_slot_waiter(numbers[4]));
	assert_int_equal(find(1, true), high);
	assert_int_equal(find(1, false), high);
}

static void memory_that_is_gone(void **state)
{
	uint64_t *nothing =
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct wf_arch_slot what = { nothing, 1, 0, NULL };
	bool faulted = false;

	wf_word_slot_arm_locked(numbers[40], &values[40], somebody, &what,
				false, false);
	assert_int_equal(wf_word_slot_find(1, numbers[SLOTS - 1], false,
					   &faulted),
			 numbers[40]);
	assert_true(faulted);
	assert_int_equal(wf_word_slot_check(&what, false), -EFAULT);
	munmap(nothing, 4096);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_is_handed_out_once),
		TEST(chains),
		TEST(a_poll_is_as_long_as_many_wait),
		TEST(more_than_there_are),
		TEST(both_ways_agree),
		TEST(muted_and_free_ones_are_no_hits),
		TEST(memory_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
