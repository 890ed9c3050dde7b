/* SPDX-License-Identifier: MIT */
/*
 * src/sched/inject.c: order, growth and wrapping, against a model; then pushing
 * and popping threads. An entry's value has its pusher and its number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "random.h"
#include "sched/inject.h"

/* An emptied queue keeps its memory, so all tests use one queue. */
static struct wf_inject queue;

static void push_range(uint64_t from, uint32_t nr)
{
	uint64_t *entries = malloc((nr + 1) * sizeof(*entries));

	for (uint32_t i = 0; i < nr; i++)
		entries[i] = from + i;
	wf_inject_push(&queue, entries, nr);
	free(entries);
}

static void assert_pops_range(uint64_t from, uint32_t nr)
{
	uint64_t *entries = malloc((nr + 1) * sizeof(*entries));

	assert_int_equal(wf_inject_pop(&queue, entries, nr), nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(entries[i], from + i);
	free(entries);
}

static void test_empty(void **state)
{
	uint64_t entry = 77;

	wf_inject_reset(&queue, NULL);
	assert_int_equal(wf_inject_len(&queue), 0);
	assert_int_equal(wf_inject_pop(&queue, &entry, 1), 0);
	push_range(5, 0);
	assert_int_equal(wf_inject_pop(&queue, &entry, 1), 0);
	push_range(5, 1);
	assert_int_equal(wf_inject_pop(&queue, &entry, 0), 0);
	assert_int_equal(wf_inject_len(&queue), 1);
	assert_int_equal(entry, 77);
	assert_pops_range(5, 1);
}

static void test_first_in_first_out(void **state)
{
	uint64_t entries[10];

	push_range(0, 7);
	push_range(7, 3);
	assert_int_equal(wf_inject_len(&queue), 10);
	assert_pops_range(0, 4);
	assert_pops_range(4, 1);
	assert_int_equal(wf_inject_pop(&queue, entries, 10), 5);
	assert_int_equal(entries[4], 9);
	assert_int_equal(wf_inject_len(&queue), 0);
}

/* The queue grows when its entries begin at each position of the array. */
static void test_grows(void **state)
{
	for (uint32_t at = 0; at <= WF_INJECT_FIRST; at += 512) {
		uint64_t next = at;

		wf_inject_reset(&queue, NULL);
		push_range(0, at);
		assert_pops_range(0, at);
		for (uint32_t nr = 0; nr < 3 * WF_INJECT_FIRST; nr += 128) {
			push_range(next, 128);
			next += 128;
		}
		assert_pops_range(at, 3 * WF_INJECT_FIRST);
		assert_int_equal(wf_inject_len(&queue), 0);
	}
}

/* One push of more than twice the capacity. */
static void test_grows_by_leaps(void **state)
{
	wf_inject_reset(&queue, NULL);
	push_range(0, 3);
	push_range(3, 5 * WF_INJECT_FIRST);
	assert_pops_range(0, 5 * WF_INJECT_FIRST + 3);
}

/* A fork child's queue is empty, even if the parent's was locked. */
static void test_reset(void **state)
{
	push_range(0, 100);
	wf_spin_lock(&queue.lock, WF_RANK_INJECT);
	wf_inject_reset(&queue, NULL);
	assert_int_equal(wf_inject_len(&queue), 0);
	push_range(7, 2);
	assert_pops_range(7, 2);
}

/* The queue first uses the memory that it was given, and keeps it. */
static void test_given_memory(void **state)
{
	static uint64_t first[WF_INJECT_FIRST];

	wf_inject_reset(&queue, first);
	push_range(1, WF_INJECT_FIRST);
	assert_int_equal(first[0], 1);
	assert_int_equal(first[WF_INJECT_FIRST - 1], WF_INJECT_FIRST);
	push_range(WF_INJECT_FIRST + 1, 1);
	assert_pops_range(1, WF_INJECT_FIRST + 1);
	wf_inject_reset(&queue, first);
	push_range(7, 1);
	assert_int_equal(first[0], 7);
	assert_pops_range(7, 1);
}

/* Positions may wrap at 2^32. */
static void test_positions_wrap(void **state)
{
	wf_inject_reset(&queue, NULL);
	push_range(0, 1);
	assert_pops_range(0, 1);
	queue.head = UINT32_MAX - 10;
	for (uint64_t i = 0; i < 40; i += 4) {
		push_range(i, 4);
		assert_pops_range(i, 4);
	}
	queue.head = UINT32_MAX - 10;
	push_range(0, WF_INJECT_FIRST + 100);
	assert_pops_range(0, WF_INJECT_FIRST + 100);
}

static void test_random_ops(void **state)
{
	struct test_random r = { test_seed() };
	uint64_t pushed = 0, popped = 0;

	wf_inject_reset(&queue, NULL);
	for (int op = 0; op < 200000; op++) {
		uint32_t nr = test_random(&r, 200);
		uint32_t len = (uint32_t)(pushed - popped);

		/* The length rises to some thousands and falls to none. */
		if (test_random(&r, 100) < (op / 20000 % 2 == 0 ? 52 : 48)) {
			push_range(pushed, nr);
			pushed += nr;
		} else {
			assert_pops_range(popped, nr < len ? nr : len);
			popped += nr < len ? nr : len;
		}
		assert_int_equal(wf_inject_len(&queue), pushed - popped);
	}
	assert_pops_range(popped, (uint32_t)(pushed - popped));
}

static bool is_divisible_by_5(uint64_t entry)
{
	return entry % 5 == 0;
}

/*
 * Takes the first matching entry, wherever it is; the others keep their order.
 */
static void test_take(void **state)
{
	uint64_t entry = 77;

	wf_inject_reset(&queue, NULL);
	assert_false(wf_inject_take(&queue, is_divisible_by_5, &entry));
	push_range(0, 2);
	assert_pops_range(0, 2);
	queue.head = UINT32_MAX - 2; /* so that positions wrap */
	push_range(1, 10);
	assert_true(wf_inject_take(&queue, is_divisible_by_5, &entry));
	assert_int_equal(entry, 5);
	assert_true(wf_inject_take(&queue, is_divisible_by_5, &entry));
	assert_int_equal(entry, 10);
	assert_false(wf_inject_take(&queue, is_divisible_by_5, &entry));
	assert_int_equal(wf_inject_len(&queue), 8);
	assert_pops_range(1, 4);
	assert_pops_range(6, 4);
}

/* --- many at once ------------------------------------------------------- */

enum { NR_PUSHERS = 3, NR_POPPERS = 3, NR_EACH = 300000, BATCH = 128 };

static _Atomic uint8_t seen[NR_PUSHERS * NR_EACH];
static _Atomic uint32_t nr_seen;

static void *push_all(void *arg)
{
	uint64_t base = (uintptr_t)arg * NR_EACH, entries[BATCH];
	struct test_random r = { base };

	for (uint32_t done = 0; done < NR_EACH;) {
		uint32_t nr = 1 + test_random(&r, BATCH);

		nr = nr < NR_EACH - done ? nr : NR_EACH - done;
		for (uint32_t i = 0; i < nr; i++)
			entries[i] = base + done + i;
		wf_inject_push(&queue, entries, nr);
		done += nr;
	}
	return NULL;
}

/* One popper sees each pusher's entries in order. */
static void *pop_all(void *arg)
{
	uint64_t entries[BATCH], last[NR_PUSHERS] = { 0 };
	struct test_random r = { (uintptr_t)arg };

	while (wf_load_relaxed(&nr_seen) < NR_PUSHERS * NR_EACH) {
		uint32_t max = 1 + test_random(&r, BATCH);
		uint32_t nr = wf_inject_pop(&queue, entries, max);

		WF_CHECK(nr <= max, "more than asked for");
		for (uint32_t i = 0; i < nr; i++) {
			uint64_t e = entries[i], *l = &last[e / NR_EACH];

			WF_CHECK(atomic_fetch_add(&seen[e], 1) == 0,
				 "an entry came out twice");
			WF_CHECK(e % NR_EACH >= *l, "out of order");
			*l = e % NR_EACH;
		}
		atomic_fetch_add(&nr_seen, nr);
		if (nr == 0)
			sched_yield();
	}
	return NULL;
}

static void test_each_entry_once(void **state)
{
	pthread_t threads[NR_PUSHERS + NR_POPPERS];

	wf_inject_reset(&queue, NULL);
	for (uintptr_t i = 0; i < NR_PUSHERS + NR_POPPERS; i++)
		pthread_create(&threads[i], NULL,
			       i < NR_PUSHERS ? push_all : pop_all, (void *)i);
	for (int i = 0; i < NR_PUSHERS + NR_POPPERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wf_inject_len(&queue), 0);
	for (uint32_t i = 0; i < NR_PUSHERS * NR_EACH; i++)
		assert_int_equal(seen[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_grows_by_leaps),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_given_memory),
		cmocka_unit_test(test_positions_wrap),
		cmocka_unit_test(test_random_ops),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_each_entry_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
