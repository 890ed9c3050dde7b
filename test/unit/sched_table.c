/* SPDX-License-Identifier: MIT */
/*
 * src/sched/table.c: threads start and end with a VP's pool. New threads take
 * the stack that is in the cache. In a fork child every stack still has one
 * owner.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "base/options.h"
#include "libc/elf.h"
#include "libc/layout.h"
#include "os/mem.h"
#include "sched/table.h"

enum { STACK = 64 * 1024, TCB_BYTES = 2304, NR = 40 };

struct wf_libc_layout wf_libc = { .pthread_bytes = TCB_BYTES,
				  .static_tls_bytes = 4416,
				  .static_tls_align = 64,
				  .static_tls_used = 200 };
struct wf_options wf_options;

bool wf_elf_has_thread_sanitizer(void)
{
	return false;
}

static struct wf_pool pool;
static struct wf_slot_class *class, *other_class;

static struct wf_thread *get(void)
{
	struct wf_thread *t = wf_table_get(&pool, class);

	assert_non_null(t);
	t->tid = wf_table_tid(t);
	return t;
}

static void assert_stacks_distinct(struct wf_thread *const *threads, int nr)
{
	for (int i = 0; i < nr; i++) {
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(threads[i]->slot.low,
					     threads[j]->slot.low);
	}
}

static int init(void **state)
{
	class = wf_slot_class_get(STACK, WF_PAGE);
	other_class = wf_slot_class_get(2 * STACK, WF_PAGE);
	return wf_table_init();
}

/*
 * A slot takes over another slot's stack with guard and top, and keeps its TCB.
 */
static void test_exchange(void **state)
{
	struct wf_slot a, b, old_a;
	char *low, *top;

	assert_int_equal(wf_slot_map(class, &a), 0);
	assert_int_equal(wf_slot_map(class, &b), 0);
	old_a = a;
	low = wf_slot_stack_low(&a);
	top = wf_slot_stack_top(&a);
	memset((void *)a.tcb, 3, TCB_BYTES);
	wf_slot_exchange_stacks(&a, &b);
	assert_ptr_equal(wf_slot_stack_low(&b), low);
	assert_ptr_equal(wf_slot_stack_top(&b), top);
	assert_ptr_equal(wf_slot_block_low(&b), old_a.low);
	assert_int_equal(a.tcb, old_a.tcb);
	assert_ptr_equal(wf_slot_save_for(&a, 0), wf_slot_save_for(&old_a, 0));
	assert_ptr_equal(wf_slot_home(&a), old_a.low);
	assert_ptr_equal(wf_slot_home(&b), a.low);
	memset(low, 1, (size_t)(top - low));
	wf_slot_trim(&b);
	for (char *p = low; p < top; p++)
		assert_true(*p == 0 || top - p < (ptrdiff_t)WF_PAGE);
	for (size_t i = 0; i < TCB_BYTES; i++)
		assert_int_equal(((char *)a.tcb)[i], 3);
}

/* Threads that run one at a time use one stack, although others wait. */
static void test_in_turn(void **state)
{
	struct wf_thread *threads[NR];
	char *low;

	for (int i = 0; i < NR; i++)
		threads[i] = get();
	assert_false(wf_table_take_hot_stack(&pool, threads[0]));
	low = threads[0]->slot.low;
	wf_table_put(&pool, threads[0]);
	for (int i = 1; i < NR; i++) {
		assert_true(wf_table_take_hot_stack(&pool, threads[i]));
		assert_ptr_equal(threads[i]->slot.low, low);
		wf_table_put(&pool, threads[i]);
	}
	assert_stacks_distinct(threads, NR);
}

/* A hot stack is not taken twice, nor from a thread that left the table. */
static void test_taken_once(void **state)
{
	struct wf_thread *a = get(), *b = get(), *c = get();

	wf_table_put(&pool, a);
	assert_true(wf_table_take_hot_stack(&pool, b));
	assert_false(wf_table_take_hot_stack(&pool, c));
	wf_table_put(&pool, b);
	assert_ptr_equal(get(), b);
	assert_false(wf_table_take_hot_stack(&pool, c));
	wf_table_put(&pool, b);
	wf_table_put(&pool, c);
}

/*
 * No exchange with a stack of another size, or with one that the program knows.
 */
static void test_keeps_its_own(void **state)
{
	struct wf_thread *a = get(), *b = get();
	struct wf_thread *other = wf_table_get(&pool, other_class);

	wf_table_put(&pool, a);
	assert_false(wf_table_take_hot_stack(&pool, other));
	wf_store_relaxed(&b->slot.keeps_stack, true);
	assert_false(wf_table_take_hot_stack(&pool, b));
	wf_store_relaxed(&b->slot.keeps_stack, false);
	wf_table_put(&pool, b);
	wf_table_put(&pool, other);
}

/*
 * A thread that has exchanged its stack forks in the middle of another
 * exchange.
 */
static void test_fork_child(void **state)
{
	struct wf_thread *self = get(), *a = get(), *b = get(), *c = get();
	struct wf_thread *all[] = { self, a, b, c };
	char *low;

	wf_table_put(&pool, a);
	assert_true(wf_table_take_hot_stack(&pool, self));
	low = self->slot.low;
	b->slot.low = c->slot.low;
	wf_table_fork_child(self);
	assert_ptr_equal(self->slot.low, low);
	assert_stacks_distinct(all, WF_ARRAY_LEN(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),
		cmocka_unit_test(test_in_turn),
		cmocka_unit_test(test_taken_once),
		cmocka_unit_test(test_keeps_its_own),
		cmocka_unit_test(test_fork_child),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
