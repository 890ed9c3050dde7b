/* SPDX-License-Identifier: MIT */
/*
 * src/sched/runq.c: both ends, limits, wrapped positions; then an owner and
 * three thieves. Built with the real size and with queues of 2 and 4 entries.
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
#include "sched/runq.h"

enum { SIZE = WF_RUNQ_SIZE };

/* Positions at which a test starts; the last ones wrap during the test. */
static const uint32_t starts[] = { 0,
				   1,
				   SIZE - 1,
				   UINT32_MAX,
				   UINT32_MAX - 1,
				   -(uint32_t)SIZE,
				   INT32_MAX,
				   1u << 31 };

static void start_at(struct wf_runq *q, uint32_t position)
{
	wf_runq_init(q);
	wf_store_relaxed(&q->head, (uint64_t)UINT32_MAX << 32 | position);
	wf_store_relaxed(&q->tail, position);
}

#define for_each_start(q)   \
	for (size_t i_ = 0; \
	     i_ < WF_ARRAY_LEN(starts) && (start_at(q, starts[i_]), 1); i_++)

static void assert_pops(struct wf_runq *q, uint64_t expected)
{
	uint64_t entry = 0;

	assert_true(wf_runq_pop(q, &entry));
	assert_int_equal(entry, expected);
}

static void test_layout(void **state)
{
	assert_int_equal(offsetof(struct wf_runq, head) % WF_CACHE_LINE, 0);
	assert_true(offsetof(struct wf_runq, tail) -
			    offsetof(struct wf_runq, head) >=
		    WF_CACHE_LINE);
}

static void test_empty(void **state)
{
	static struct wf_runq q;
	uint64_t entry = 77;

	for_each_start(&q)
	{
		assert_int_equal(wf_runq_len(&q), 0);
		assert_false(wf_runq_pop(&q, &entry));
		assert_int_equal(wf_runq_take_half(&q, &entry, 1), 0);
		assert_int_equal(entry, 77);
	}
}

static void test_first_in_first_out(void **state)
{
	static struct wf_runq q;

	for_each_start(&q)
	{
		for (uint64_t round = 0; round < 5; round++) {
			for (uint64_t i = 0; i < SIZE; i++) {
				assert_int_equal(wf_runq_len(&q), i);
				assert_true(
					wf_runq_push_tail(&q, round << 60 | i));
			}
			assert_int_equal(wf_runq_len(&q), SIZE);
			assert_false(wf_runq_push_tail(&q, 1));
			assert_false(wf_runq_push_head(&q, 1));
			for (uint64_t i = 0; i < SIZE; i++)
				assert_pops(&q, round << 60 | i);
			assert_int_equal(wf_runq_len(&q), 0);
		}
	}
}

static void test_push_head_goes_first(void **state)
{
	static struct wf_runq q;

	for_each_start(&q)
	{
		for (uint64_t i = 0; i < SIZE; i++)
			assert_true(wf_runq_push_head(&q, i));
		assert_false(wf_runq_push_head(&q, SIZE));
		assert_false(wf_runq_push_tail(&q, SIZE));
		for (uint64_t i = SIZE; i > 0; i--)
			assert_pops(&q, i - 1);
		assert_true(wf_runq_push_tail(&q, 2));
		assert_true(wf_runq_push_head(&q, 1));
		assert_pops(&q, 1);
		assert_pops(&q, 2);
		assert_int_equal(wf_runq_len(&q), 0);
	}
}

static void test_take_half(void **state)
{
	static struct wf_runq q;
	uint64_t got[SIZE];

	for_each_start(&q)
	{
		for (uint32_t len = 1; len <= SIZE; len++) {
			uint32_t half = len / 2 + len % 2, max = half / 2 + 1;

			for (uint64_t i = 0; i < len; i++)
				wf_runq_push_tail(&q, i);
			assert_int_equal(wf_runq_take_half(&q, got, 0), 0);
			assert_int_equal(wf_runq_take_half(&q, got, SIZE),
					 half);
			for (uint64_t i = 0; i < half; i++)
				assert_int_equal(got[i], i);
			for (uint64_t i = half; i < len; i++)
				assert_pops(&q, i);
			for (uint64_t i = 0; i < len; i++)
				wf_runq_push_tail(&q, i);
			assert_int_equal(wf_runq_take_half(&q, got, max), max);
			for (uint64_t i = max; i < len; i++)
				assert_pops(&q, i);
		}
	}
}

/*
 * Entries lie across the array's end and the positions' wrap; pop continues
 * there.
 */
static void test_pop_alone(void **state)
{
	struct wf_runq q;
	uint64_t entry = 0;

	wf_runq_init(&q);
	assert_false(wf_runq_pop_alone(&q, &entry));
	for (uint64_t i = 1; i <= 3 * WF_RUNQ_SIZE; i++) {
		assert_true(wf_runq_push_tail(&q, i));
		if (i % 3 == 0)
			assert_true(wf_runq_pop(&q, &entry));
		else
			assert_true(wf_runq_pop_alone(&q, &entry));
		assert_int_equal(entry, i);
		assert_int_equal(wf_runq_len(&q), 0);
	}
	assert_true(wf_runq_push_tail(&q, 1));
	assert_true(wf_runq_push_head(&q, 2));
	assert_true(wf_runq_pop_alone(&q, &entry));
	assert_int_equal(entry, 2);
	assert_true(wf_runq_pop_alone(&q, &entry));
	assert_int_equal(entry, 1);
	assert_false(wf_runq_pop_alone(&q, &entry));
}

static bool is_odd(uint64_t entry)
{
	return entry % 2 != 0;
}

static void test_remove_last_alone(void **state)
{
	static struct wf_runq q;
	uint64_t entry;

	wf_runq_init(&q);
	for (uint64_t i = 1; i <= 2; i++)
		assert_true(wf_runq_push_tail(&q, i | UINT64_C(7) << 32));
	wf_runq_remove_last_alone(&q, 1); /* not the last */
	assert_int_equal(wf_runq_len(&q), 2);
	wf_runq_remove_last_alone(&q, 2);
	assert_int_equal(wf_runq_len(&q), 1);
	assert_true(wf_runq_pop_alone(&q, &entry));
	assert_int_equal((uint32_t)entry, 1);
	wf_runq_remove_last_alone(&q, 1); /* it has left already */
	assert_int_equal(wf_runq_len(&q), 0);
	assert_true(wf_runq_is_empty(&q));
}

static void test_drop_and_live(void **state)
{
	const int nr_peeks = WF_RUNQ_PEEK;
	struct wf_runq q;

	for_each_start(&q)
	{
		assert_int_equal(wf_runq_drop(&q, is_odd), 0);
		assert_int_equal(wf_runq_live(&q, is_odd), 0);
		/* If all entries are stale, one drop removes them. */
		for (uint64_t i = 0; i < SIZE; i++)
			assert_true(wf_runq_push_tail(&q, 2 * i + 1));
		assert_int_equal(wf_runq_live(&q, is_odd),
				 SIZE > nr_peeks ? SIZE - nr_peeks : 0);
		assert_int_equal(wf_runq_drop(&q, is_odd), SIZE);
		assert_int_equal(wf_runq_len(&q), 0);
		/* drop removes only stale entries before the first live one. */
		assert_true(wf_runq_push_tail(&q, 1));
		assert_true(wf_runq_push_tail(&q, 2));
		assert_int_equal(wf_runq_live(&q, is_odd), 1);
		assert_int_equal(wf_runq_drop(&q, is_odd), 1);
		assert_true(wf_runq_push_tail(&q, 3));
		assert_int_equal(wf_runq_drop(&q, is_odd), 0);
		assert_pops(&q, 2);
		assert_pops(&q, 3);
	}
}

static void test_head_changes_with_the_first_entry(void **state)
{
	static struct wf_runq q;
	uint64_t entry;

	for_each_start(&q)
	{
		uint32_t first = wf_runq_head(&q), second;

		wf_runq_push_tail(&q, 1);
		assert_int_equal(wf_runq_head(&q), first);
		wf_runq_pop(&q, &entry);
		second = wf_runq_head(&q);
		assert_int_not_equal(second, first);
		wf_runq_push_head(&q, 1);
		assert_int_not_equal(wf_runq_head(&q), first);
		assert_int_not_equal(wf_runq_head(&q), second);
	}
}

/* --- against a model ---------------------------------------------------- */

struct model {
	uint64_t entries[SIZE];
	uint32_t len;
};

static void model_take(struct model *m, uint32_t nr)
{
	m->len -= nr;
	memmove(m->entries, m->entries + nr, m->len * sizeof(uint64_t));
}

static void model_push(struct model *m, uint64_t entry, bool at_head)
{
	if (at_head) {
		memmove(m->entries + 1, m->entries, m->len * sizeof(uint64_t));
		m->entries[0] = entry;
	} else {
		m->entries[m->len] = entry;
	}
	m->len++;
}

static void random_op(struct wf_runq *q, struct model *m, uint64_t entry,
		      struct test_random *r)
{
	uint32_t choice = test_random(r, 9);
	uint64_t got[SIZE];
	uint32_t nr = 0;

	if (choice < 5) {
		bool at_head = choice < 2;
		bool done = at_head ? wf_runq_push_head(q, entry) :
				      wf_runq_push_tail(q, entry);

		assert_int_equal(done, m->len < SIZE);
		if (done)
			model_push(m, entry, at_head);
		return;
	}
	if (choice == 5)
		nr = wf_runq_take_half(q, got, 1 + test_random(r, SIZE));
	else
		nr = wf_runq_pop(q, &got[0]) ? 1 : 0;
	assert_true(nr <= m->len && (nr > 0 || m->len == 0));
	assert_memory_equal(got, m->entries, nr * sizeof(uint64_t));
	model_take(m, nr);
}

static void test_random_ops(void **state)
{
	static struct wf_runq q;
	struct test_random r = { test_seed() };

	for_each_start(&q)
	{
		struct model m = { .len = 0 };

		for (uint64_t entry = 0; entry < 100000; entry++) {
			random_op(&q, &m, entry, &r);
			assert_int_equal(wf_runq_len(&q), m.len);
		}
	}
}

/* --- an owner and thieves ----------------------------------------------- */

enum { NR_THIEVES = 3, NR_ENTRIES = 1000000 };

struct heist {
	struct wf_runq q;
	struct test_random random[NR_THIEVES + 1];
	_Atomic uint8_t seen[NR_ENTRIES];
	_Atomic bool is_over;
};

static void consume(struct heist *h, const uint64_t *entries, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		/* Not cmocka's assertions: these work in one thread only. */
		WF_CHECK(entries[i] < NR_ENTRIES, "never pushed");
		WF_CHECK(atomic_fetch_add(&h->seen[entries[i]], 1) == 0,
			 "an entry came out twice");
	}
}

struct thief {
	struct heist *h;
	uint32_t number;
};

static uint32_t take_some(struct heist *h, struct test_random *r)
{
	uint64_t got[SIZE];
	uint32_t nr;

	if (test_random(r, 2) == 0)
		nr = wf_runq_pop(&h->q, &got[0]) ? 1 : 0;
	else
		nr = wf_runq_take_half(&h->q, got, 1 + test_random(r, SIZE));
	consume(h, got, nr);
	return nr;
}

static void *run_thief(void *arg)
{
	struct thief *t = arg;
	struct test_random *r = &t->h->random[t->number];

	while (!wf_load_relaxed(&t->h->is_over)) {
		if (take_some(t->h, r) == 0)
			sched_yield();
	}
	return NULL;
}

/*
 * Behaves like a VP: a full queue gives half away, and some entries go back to
 * the front.
 */
static void own(struct heist *h)
{
	struct test_random *r = &h->random[NR_THIEVES];
	uint64_t got[SIZE], next = 0;

	while (next < NR_ENTRIES) {
		uint32_t choice = test_random(r, 8);

		if (choice < 4) {
			if (wf_runq_push_tail(&h->q, next))
				next++;
			else
				consume(h, got,
					wf_runq_take_half(&h->q, got,
							  SIZE / 2));
		} else if (choice == 4) {
			next += wf_runq_push_head(&h->q, next);
		} else if (wf_runq_pop(&h->q, &got[0])) {
			if (choice == 5 || !wf_runq_push_head(&h->q, got[0]))
				consume(h, got, 1);
		}
	}
}

static void test_each_entry_once(void **state)
{
	struct heist *h = aligned_alloc(WF_CACHE_LINE, sizeof(*h));
	struct thief thieves[NR_THIEVES];
	pthread_t threads[NR_THIEVES];
	uint64_t seed = test_seed();

	memset(h, 0, sizeof(*h));
	start_at(&h->q, UINT32_MAX - 1000);
	for (uint32_t i = 0; i <= NR_THIEVES; i++)
		h->random[i].state = seed + i;
	for (uint32_t i = 0; i < NR_THIEVES; i++) {
		thieves[i] = (struct thief){ h, i };
		pthread_create(&threads[i], NULL, run_thief, &thieves[i]);
	}
	own(h);
	wf_store_relaxed(&h->is_over, true);
	for (uint32_t i = 0; i < NR_THIEVES; i++)
		pthread_join(threads[i], NULL);
	while (take_some(h, &h->random[0]) > 0)
		continue;
	for (uint32_t i = 0; i < NR_ENTRIES; i++)
		assert_int_equal(h->seen[i], 1);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_push_head_goes_first),
		cmocka_unit_test(test_take_half),
		cmocka_unit_test(test_pop_alone),
		cmocka_unit_test(test_remove_last_alone),
		cmocka_unit_test(test_drop_and_live),
		cmocka_unit_test(test_head_changes_with_the_first_entry),
		cmocka_unit_test(test_random_ops),
		cmocka_unit_test(test_each_entry_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
