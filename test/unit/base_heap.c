/* SPDX-License-Identifier: MIT */
/*
 * src/base/heap.c: the order of items, removal by index, growth, and random
 * operations compared with a model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/heap.h"
#include "random.h"

struct item {
	int64_t key;
	bool is_in; /* is it in the heap, according to the model? */
	uint32_t index;
};

static int nr_grown;
static bool is_out_of_memory;

static void *grow(void *old, size_t old_bytes, size_t new_bytes)
{
	assert_true(new_bytes % 4096 == 0 && new_bytes > old_bytes);
	assert_true((old == NULL) == (old_bytes == 0));
	if (is_out_of_memory)
		return NULL;
	nr_grown++;
	return realloc(old, new_bytes);
}

static void setup(struct wf_heap *h)
{
	wf_heap_init(h, grow);
	nr_grown = 0;
}

static void push(struct wf_heap *h, struct item *it, int64_t key)
{
	it->key = key;
	it->is_in = true;
	assert_int_equal(it->index, 0);
	assert_int_equal(wf_heap_push(h, key, it, &it->index), 0);
	assert_int_not_equal(it->index, 0);
}

/* Checks every invariant of heap.c, entry by entry. */
static void check(const struct wf_heap *h)
{
	for (uint32_t i = WF_HEAP_ROOT; i < WF_HEAP_ROOT + h->len; i++) {
		const struct wf_heap_entry *e = &h->entries[i];
		const struct item *it = e->item;

		assert_int_equal(it->index, i); /* HEAP-2 */
		assert_int_equal(it->key, e->key);
		assert_true(it->is_in);
		assert_true(e->key >= wf_heap_min_key(h));
		if (i != WF_HEAP_ROOT)
			assert_true(h->entries[i / 4 + 2].key <= e->key);
	}
}

static void test_empty(void **state)
{
	struct wf_heap h;

	setup(&h);
	assert_true(wf_heap_min_key(&h) == INT64_MAX);
	assert_null(wf_heap_pop(&h));
	assert_int_equal(nr_grown, 0);
}

static void test_one(void **state)
{
	struct wf_heap h;
	struct item it = { 0 };

	setup(&h);
	push(&h, &it, 7);
	assert_true(wf_heap_min_key(&h) == 7);
	wf_heap_remove(&h, it.index);
	assert_int_equal(it.index, 0);
	assert_null(wf_heap_pop(&h));
	push(&h, &it, INT64_MIN);
	assert_true(wf_heap_min_key(&h) == INT64_MIN);
	assert_ptr_equal(wf_heap_pop(&h), &it);
	assert_int_equal(it.index, 0);
	free(h.entries);
}

static void test_extreme_keys(void **state)
{
	static const int64_t keys[] = { INT64_MAX, 0, INT64_MIN, -1, 1 };
	struct item items[5] = { 0 };
	struct wf_heap h;

	setup(&h);
	for (int i = 0; i < 5; i++)
		push(&h, &items[i], keys[i]);
	assert_ptr_equal(wf_heap_pop(&h), &items[2]);
	assert_ptr_equal(wf_heap_pop(&h), &items[3]);
	assert_ptr_equal(wf_heap_pop(&h), &items[1]);
	assert_ptr_equal(wf_heap_pop(&h), &items[4]);
	assert_ptr_equal(wf_heap_pop(&h), &items[0]);
	free(h.entries);
}

static void test_no_memory(void **state)
{
	struct item items[300] = { 0 };
	struct wf_heap h;
	uint32_t nr = 0;

	setup(&h);
	is_out_of_memory = true;
	assert_int_equal(wf_heap_push(&h, 1, &items[0], &items[0].index),
			 -ENOMEM);
	assert_int_equal(items[0].index, 0);
	is_out_of_memory = false;
	push(&h, &items[nr++], 0);
	is_out_of_memory = true;
	while (WF_HEAP_ROOT + nr < h.capacity) {
		push(&h, &items[nr], nr);
		nr++;
	}
	assert_int_equal(wf_heap_push(&h, 1, &items[nr], &items[nr].index),
			 -ENOMEM);
	assert_int_equal(items[nr].index, 0);
	is_out_of_memory = false;
	assert_int_equal(h.len, nr);
	check(&h);
	for (uint32_t i = 0; i < nr; i++)
		assert_ptr_equal(wf_heap_pop(&h), &items[i]);
	free(h.entries);
}

static void test_in_order(void **state)
{
	enum { NR = 5000 };
	struct item *items = calloc(NR, sizeof(*items));
	struct wf_heap h;

	for (int step = -1; step <= 1; step++) {
		int64_t last = INT64_MIN;

		setup(&h);
		for (int i = 0; i < NR; i++)
			push(&h, &items[i], (int64_t)i * step);
		check(&h);
		assert_true(nr_grown > 1);
		for (int i = 0; i < NR; i++) {
			struct item *it = wf_heap_pop(&h);

			assert_true(it->key >= last);
			last = it->key;
		}
		assert_null(wf_heap_pop(&h));
		free(h.entries);
	}
	free(items);
}

/* --- random operations against a model ---------------------------------- */

enum { NR_ITEMS = 700, NR_OPS = 200000 };

struct model {
	struct wf_heap heap;
	struct item items[NR_ITEMS];
	uint32_t nr_in;
	struct test_random random;
	uint32_t nr_keys; /* few keys, so many are equal */
};

static int64_t least_in_model(const struct model *m)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < NR_ITEMS; i++) {
		if (m->items[i].is_in && m->items[i].key < least)
			least = m->items[i].key;
	}
	return least;
}

static void take_out(struct model *m, struct item *it)
{
	assert_int_equal(it->index, 0);
	assert_true(it->is_in);
	it->is_in = false;
	m->nr_in--;
}

static void random_op(struct model *m)
{
	struct item *it = &m->items[test_random(&m->random, NR_ITEMS)];

	if (it->is_in && test_random(&m->random, 3) != 0) {
		wf_heap_remove(&m->heap, it->index);
		take_out(m, it);
	} else if (it->is_in) {
		int64_t least = least_in_model(m);

		it = wf_heap_pop(&m->heap);
		assert_true(it->key == least);
		take_out(m, it);
	} else {
		push(&m->heap, it, test_random(&m->random, m->nr_keys));
		m->nr_in++;
	}
	assert_int_equal(m->heap.len, m->nr_in);
}

static void test_random_ops(void **state)
{
	struct model *m = calloc(1, sizeof(*m));

	m->random.state = test_seed();
	setup(&m->heap);
	for (int op = 0; op < NR_OPS; op++) {
		if (op % 50000 == 0)
			m->nr_keys = 1u << (op / 50000 * 9 + 3);
		random_op(m);
		if (op % 100 == 0) {
			check(&m->heap);
			assert_true(wf_heap_min_key(&m->heap) ==
				    least_in_model(m));
		}
	}
	free(m->heap.entries);
	free(m);
}

/* Within the reserved size the heap does not grow, and so no insert fails. */
static void test_reserve(void **state)
{
	enum { NR = 3000 };
	static struct item items[NR];
	struct wf_heap h;

	setup(&h);
	assert_int_equal(wf_heap_reserve(&h, NR), 0);
	is_out_of_memory = true;
	for (int i = 0; i < NR; i++)
		push(&h, &items[i], NR - i);
	check(&h);
	assert_int_equal(wf_heap_reserve(&h, NR), 0);
	assert_int_equal(wf_heap_reserve(&h, 100 * NR), -ENOMEM);
	is_out_of_memory = false;
	assert_int_equal(h.len, NR);
	for (int i = NR - 1; i >= 0; i--) {
		assert_ptr_equal(wf_heap_pop(&h), &items[i]);
		items[i].is_in = false;
	}
	free(h.entries);
}

static int64_t mirror(int64_t key, int64_t arg)
{
	return arg - key;
}

static void test_rekey(void **state)
{
	for (int nr = 0; nr < 100; nr++) {
		struct item items[100] = { 0 };
		struct wf_heap h;

		setup(&h);
		wf_heap_rekey(&h, mirror, 0);
		for (int i = 0; i < nr; i++)
			push(&h, &items[i], i);
		wf_heap_rekey(&h, mirror, 50);
		for (int i = 0; i < nr; i++)
			items[i].key = 50 - i;
		check(&h);
		for (int i = nr - 1; i >= 0; i--)
			assert_ptr_equal(wf_heap_pop(&h), &items[i]);
		free(h.entries);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_extreme_keys),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_random_ops),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_rekey),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
