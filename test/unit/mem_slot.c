/* SPDX-License-Identifier: MIT */
/* src/mem/slot.c: size classes, layout, guards, cache colours, user stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/options.h"
#include "guards.h"
#include "libc/layout.h"
#include "mem/slot.h"
#include "os/mem.h"

enum { TCB_BYTES = 2304, TLS_BYTES = 4416, STACK = 64 * 1024 };

struct wf_libc_layout wf_libc = { .pthread_bytes = TCB_BYTES,
				  .static_tls_bytes = TLS_BYTES,
				  .static_tls_align = 64,
				  .static_tls_used = 200 };
struct wf_options wf_options;

static struct wf_slot map(struct wf_slot_class *c)
{
	struct wf_slot s;

	assert_non_null(c);
	assert_int_equal(wf_slot_map(c, &s), 0);
	return s;
}

/* --- classes ------------------------------------------------------------ */

static void test_class_of_sizes(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(STACK, WF_PAGE);

	assert_non_null(c);
	assert_true(c->stack_bytes >= STACK);
	assert_int_equal(c->guard_bytes, WF_PAGE);
	/* libc, too, takes the TLS out of the size that was asked for. */
	assert_true(c->stride >= c->stack_bytes + c->guard_bytes);
	assert_int_equal(c->stride % WF_PAGE, 0);
	assert_ptr_equal(wf_slot_class_get(STACK, WF_PAGE), c);
	assert_ptr_equal(wf_slot_class_get(STACK - 1, WF_PAGE - 1), c);
	assert_ptr_not_equal(wf_slot_class_get(STACK, 2 * WF_PAGE), c);
	assert_ptr_not_equal(wf_slot_class_get(STACK, 0), c);
	assert_ptr_not_equal(wf_slot_class_get(2 * STACK, WF_PAGE), c);
}

/* A size is rounded up by a quarter at most, and there are few classes. */
static void test_rounding(void **state)
{
	const struct wf_slot_class *last = NULL;
	uint32_t nr = 0;

	for (size_t bytes = 1; bytes < (64UL << 20); bytes += 1 + bytes / 100) {
		const struct wf_slot_class *c = wf_slot_class_get(bytes, 0);

		assert_non_null(c);
		assert_true(c->stack_bytes >= bytes);
		assert_int_equal(c->stack_bytes % WF_PAGE, 0);
		assert_true(c->stack_bytes <= bytes + bytes / 4 + WF_PAGE);
		nr += c != last;
		last = c;
	}
	assert_true(nr < 80);
}

static void test_absurd_sizes(void **state)
{
	assert_null(wf_slot_class_get(SIZE_MAX, 0));
	assert_null(wf_slot_class_get(SIZE_MAX - WF_PAGE, 0));
	assert_null(wf_slot_class_get(STACK, SIZE_MAX));
}

/* A slot larger than the address space is an error. */
static void test_no_memory(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(1UL << 50, WF_PAGE);
	struct wf_slot s = { .low = (char *)7 };

	assert_non_null(c);
	assert_true(wf_slot_map(c, &s) < 0);
	assert_ptr_equal(s.low, (char *)7);
}

static void test_default_stack(void **state)
{
	struct rlimit saved, limit;

	getrlimit(RLIMIT_STACK, &saved);
	limit = saved;
	limit.rlim_cur = 3 << 20;
	setrlimit(RLIMIT_STACK, &limit);
	assert_int_equal(wf_slot_default_stack_bytes(), 3 << 20);
	limit.rlim_cur = 1000;
	setrlimit(RLIMIT_STACK, &limit);
	assert_int_equal(wf_slot_default_stack_bytes(), 16 << 10);
	if (saved.rlim_max == RLIM_INFINITY) {
		limit.rlim_cur = RLIM_INFINITY;
		setrlimit(RLIMIT_STACK, &limit);
		assert_true(wf_slot_default_stack_bytes() >= 2 << 20);
	}
	wf_options.stack_size = 70000;
	assert_int_equal(wf_slot_default_stack_bytes(), 18 * WF_PAGE);
	wf_options.stack_size = 0;
	setrlimit(RLIMIT_STACK, &saved);
}

/* --- one slot ----------------------------------------------------------- */

static void assert_laid_out(const struct wf_slot *s)
{
	const struct wf_slot_class *c = s->class;
	char *end = s->low + c->stride;
	char *tls = (char *)s->tcb + TCB_BYTES - TLS_BYTES;
	char *top = wf_slot_stack_top(s), *low = wf_slot_stack_low(s);
	char *save = wf_slot_save_for(s, 0); /* not in the slot */

	assert_int_equal((uintptr_t)s->low % WF_PAGE, 0);
	assert_ptr_equal(low, s->low + c->guard_bytes);
	assert_int_equal(wf_slot_guard_bytes(s), c->guard_bytes);
	assert_false(s->has_user_stack);
	assert_false(s->is_prepared || s->is_used);
	/* Guard, stack, TLS and TCB all lie inside of the slot. */
	assert_int_equal(s->tcb % 64, 0);
	assert_true((char *)s->tcb + TCB_BYTES <= end);
	assert_true(top <= tls);
	assert_int_equal((uintptr_t)top % 64, 0);
	/* libc leaves no more room for frames. */
	assert_true(top - low >= (ptrdiff_t)(c->stack_bytes - TLS_BYTES));
	/* The program is told the bounds without the guard. */
	assert_ptr_equal(low + wf_slot_stack_bytes(s), end);
	assert_ptr_equal(wf_slot_block_low(s), s->low);
	assert_int_equal(wf_slot_block_bytes(s), c->stride);
	assert_true(save <= s->low || save - wf_slot_save_bytes() >= end);
}

static void assert_usable(char *low, char *end)
{
	for (char *p = low; p < end; p++)
		assert_int_equal(*p, 0);
	memset(low, 1, (size_t)(end - low));
}

static void test_layout(void **state)
{
	static const size_t stacks[] = { 1, 16384, STACK, 1 << 20, 8 << 20 };
	static const size_t guards[] = { 0, 1, WF_PAGE, 65536 };

	for (size_t i = 0; i < WF_ARRAY_LEN(stacks); i++) {
		for (size_t j = 0; j < WF_ARRAY_LEN(guards); j++) {
			struct wf_slot s =
				map(wf_slot_class_get(stacks[i], guards[j]));

			assert_laid_out(&s);
			/* All of the stack is zero and can be written. */
			assert_usable(wf_slot_stack_low(&s), (char *)s.tcb);
			assert_usable(wf_slot_save_for(&s, 0) -
					      wf_slot_save_bytes(),
				      wf_slot_save_for(&s, 0));
		}
	}
}

/* The save area has room for the kernel's largest frame and a switch. */
static void test_save_area(void **state)
{
	assert_true(wf_slot_save_bytes() >=
		    getauxval(AT_MINSIGSTKSZ) + WF_PAGE);
	assert_int_equal(wf_slot_save_bytes() % WF_PAGE, 0);
}

/* Maps 300 slots. Counts how often three in a row have equal distances. */
static int map_apart(struct wf_slot_class *c)
{
	enum { NR = 300 };
	struct wf_slot slots[NR];
	int nr = 0;

	for (int i = 0; i < NR; i++) {
		slots[i] = map(c);
		assert_laid_out(&slots[i]);
		memset(wf_slot_stack_low(&slots[i]), i & 0x7f, 100);
		memset(wf_slot_save_for(&slots[i], 0) - 100, i & 0x7f, 100);
	}
	for (int i = 0; i < NR; i++) {
		char *save = wf_slot_save_for(&slots[i], 0), mark[100];

		memset(mark, i & 0x7f, 100);
		assert_memory_equal(wf_slot_stack_low(&slots[i]), mark, 100);
		assert_memory_equal(save - 99, mark, 99);
		for (int j = 0; j < i; j++)
			assert_true(slots[i].low >= slots[j].low + c->stride ||
				    slots[j].low >= slots[i].low + c->stride);
		nr += i > 1 && slots[i].low - slots[i - 1].low ==
				       slots[i - 1].low - slots[i - 2].low;
	}
	return nr;
}

static void test_no_overlap(void **state)
{
	assert_true(map_apart(wf_slot_class_get(20 * WF_PAGE, WF_PAGE)) > 200);
	assert_true(map_apart(wf_slot_class_get(8 << 20, WF_PAGE)) < 100);
}

/* The number of pages of a slot that a thread with shallow frames touches. */
static size_t pages_touched(const struct wf_slot *s)
{
	uintptr_t top = (uintptr_t)wf_slot_stack_top(s);
	uintptr_t frames = top - 2200;
	uintptr_t tls = s->tcb - wf_libc.static_tls_used;
	uintptr_t note = s->tcb + TCB_BYTES + sizeof(struct wf_slot_note);

	return (top - 1) / WF_PAGE - frames / WF_PAGE + 1 +
	       (note - 1) / WF_PAGE - tls / WF_PAGE + 1;
}

/* Tops and TCBs spread over cache sets, and a slot takes two pages. */
static void test_colours(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(40 * WF_PAGE, WF_PAGE);
	uint32_t tops[WF_PAGE / 64] = { 0 }, tcbs[WF_PAGE / 64] = { 0 };
	uint32_t nr_tops = 0, nr_tcbs = 0;

	for (int i = 0; i < 240; i++) {
		struct wf_slot s = map(c);

		nr_tops += tops[(uintptr_t)wf_slot_stack_top(&s) % WF_PAGE /
				64]++ == 0;
		nr_tcbs += tcbs[s.tcb % WF_PAGE / 64]++ == 0;
		assert_int_equal(pages_touched(&s), 2);
	}
	assert_true(nr_tops >= 25);
	assert_true(nr_tcbs >= 20);
	for (size_t i = 0; i < WF_ARRAY_LEN(tops); i++) {
		assert_true(tops[i] <= 240 / 24);
		assert_true(tcbs[i] <= 240 / 20);
	}
}

/* A program may have more than a page of static TLS. */
static void test_much_tls(void **state)
{
	struct wf_slot_class *c;

	wf_libc.static_tls_bytes = TLS_BYTES + 20000;
	wf_libc.static_tls_used = 20200;
	c = wf_slot_class_get(48 * WF_PAGE, WF_PAGE);
	for (int i = 0; i < 100; i++) {
		struct wf_slot s = map(c);
		char *top = wf_slot_stack_top(&s);

		assert_true(top <= (char *)s.tcb - 20200);
		assert_true(top - wf_slot_stack_low(&s) >= 46 * 4096);
	}
	wf_libc.static_tls_bytes = TLS_BYTES;
	wf_libc.static_tls_used = 200;
}

/* A module's TLS may need a larger alignment than a cache line. */
static void test_tls_alignment(void **state)
{
	struct wf_slot_class *c;

	wf_libc.static_tls_align = 1024;
	c = wf_slot_class_get(56 * WF_PAGE, 0);
	for (int i = 0; i < 200; i++) {
		struct wf_slot s = map(c);

		assert_int_equal(s.tcb % 1024, 0);
		assert_true((char *)wf_slot_stack_top(&s) -
				    wf_slot_stack_low(&s) >=
			    56 * (ptrdiff_t)WF_PAGE - TLS_BYTES);
	}
	wf_libc.static_tls_align = 64;
}

/* --- guards ------------------------------------------------------------- */

static void test_guard_faults(void **state)
{
	static const size_t guards[] = { WF_PAGE, 3 * WF_PAGE };

	for (size_t i = 0; i < WF_ARRAY_LEN(guards); i++) {
		struct wf_slot_class *c = wf_slot_class_get(STACK, guards[i]);
		struct wf_slot first = map(c), s = map(c);

		for (size_t at = 0; at < guards[i]; at += WF_PAGE - 1)
			assert_int_equal(signal_of_write(s.low + at), SIGSEGV);
		assert_int_equal(signal_of_write(wf_slot_stack_low(&s) - 1),
				 SIGSEGV);
		assert_int_equal(signal_of_write(wf_slot_stack_low(&s)), 0);
		assert_int_equal(signal_of_write(wf_slot_save_for(&s, 0) - 1),
				 0);
		assert_int_equal(signal_of_write(wf_slot_stack_low(&first) - 1),
				 SIGSEGV);
	}
}

/* After a trim only the TCB's page and the guard are left. */
static void test_trim(void **state)
{
	struct wf_slot s = map(wf_slot_class_get(STACK, WF_PAGE));
	char *low = wf_slot_stack_low(&s), *top = wf_slot_stack_top(&s);
	char *save = wf_slot_save_for(&s, 0) - wf_slot_save_bytes();
	char *tls = (char *)s.tcb - wf_libc.static_tls_used;

	memset(low, 1, (size_t)(top - low));
	memset(save, 2, wf_slot_save_bytes());
	memset(tls, 3, wf_libc.static_tls_used + TCB_BYTES);
	wf_slot_trim(&s);
	for (char *p = low; p < top; p++)
		assert_int_equal(*p, 0);
	for (char *p = save; p < wf_slot_save_for(&s, 0); p++)
		assert_int_equal(*p, 0);
	for (char *p = tls; p < (char *)s.tcb + TCB_BYTES; p++)
		assert_int_equal(*p, 3);
	assert_ptr_equal(wf_slot_stack_top(&s), top);
	assert_int_equal(signal_of_write(low - 1), SIGSEGV);
	memset(low, 1, (size_t)(top - low));
}

/* A slot for a user's stack has only TLS and TCB; that stack is not trimmed. */
static void test_trim_without_stack(void **state)
{
	struct wf_slot s = map(wf_slot_class_get(0, 0));
	static char stack[STACK];

	memset(stack, 5, sizeof(stack));
	wf_slot_use_stack(&s, stack, sizeof(stack));
	memset((void *)s.tcb, 3, TCB_BYTES);
	wf_slot_trim(&s);
	for (size_t i = 0; i < sizeof(stack); i++)
		assert_int_equal(stack[i], 5);
	for (size_t i = 0; i < TCB_BYTES; i++)
		assert_int_equal(((char *)s.tcb)[i], 3);
	assert_ptr_equal(wf_slot_stack_top(&s), stack + sizeof(stack));
}

static void test_all_classes(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(STACK, WF_PAGE);
	uint32_t nr = 0, nr_found = 0;

	for (; wf_slot_class_at(nr) != NULL; nr++)
		nr_found += wf_slot_class_at(nr) == c;
	assert_int_equal(nr_found, 1);
	assert_true(nr > 1);
}

static void test_no_guard(void **state)
{
	struct wf_slot s = map(wf_slot_class_get(STACK, 0));

	assert_ptr_equal(wf_slot_stack_low(&s), s.low);
	assert_int_equal(signal_of_write(s.low), 0);
}

/* --- stacks of the program's own ------------------------------------------ */

static void test_user_stack(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(0, 0);
	struct wf_slot s = map(c);
	static char stack[STACK];

	assert_int_equal(c->stack_bytes, 0);
	assert_true(c->stride < 16 * WF_PAGE);
	wf_slot_use_stack(&s, stack, sizeof(stack));
	assert_true(s.has_user_stack);
	assert_ptr_equal(wf_slot_stack_low(&s), stack);
	assert_int_equal(wf_slot_stack_bytes(&s), sizeof(stack));
	assert_int_equal(wf_slot_guard_bytes(&s), 0);
	assert_ptr_equal(wf_slot_block_low(&s), stack);
	assert_int_equal(wf_slot_block_bytes(&s), sizeof(stack));
	/* Every byte of the stack belongs to the caller. */
	assert_ptr_equal(wf_slot_stack_top(&s), stack + sizeof(stack));
	assert_true((char *)s.tcb > s.low && (char *)s.tcb < s.low + c->stride);
	wf_slot_own_stack(&s);
	assert_laid_out(&s);
}

static void test_own_stack_again(void **state)
{
	struct wf_slot s = map(wf_slot_class_get(STACK, WF_PAGE)), before = s;
	static char stack[STACK];

	wf_slot_use_stack(&s, stack, sizeof(stack));
	wf_slot_own_stack(&s);
	assert_ptr_equal(wf_slot_stack_low(&s), wf_slot_stack_low(&before));
	assert_int_equal(wf_slot_stack_bytes(&s), wf_slot_stack_bytes(&before));
	assert_int_equal(wf_slot_guard_bytes(&s), wf_slot_guard_bytes(&before));
	assert_ptr_equal(wf_slot_stack_top(&s), wf_slot_stack_top(&before));
}

/* --- many at once, and a fork child ------------------------------------- */

enum { NR_THREADS = 4, NR_EACH = 200 };
static struct wf_slot_class *shared;
static char *lows[NR_THREADS][NR_EACH];

static void *map_many(void *arg)
{
	char **own = lows[(uintptr_t)arg];
	struct wf_slot s;

	for (int i = 0; i < NR_EACH; i++) {
		/* All threads get the same class. */
		shared = wf_slot_class_get(28 * WF_PAGE, WF_PAGE);
		own[i] = wf_slot_map(shared, &s) == 0 ? s.low : NULL;
	}
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return (x > y) - (x < y);
}

static void test_threads(void **state)
{
	pthread_t threads[NR_THREADS];
	char **all = lows[0];

	for (uintptr_t i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, map_many, (void *)i);
	for (int i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared->nr_mapped, NR_THREADS * NR_EACH);
	qsort(all, NR_THREADS * NR_EACH, sizeof(*all), by_address);
	assert_non_null(all[0]);
	for (int i = 1; i < NR_THREADS * NR_EACH; i++)
		assert_true(all[i] >= all[i - 1] + shared->stride);
}

static void test_fork_child(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(STACK, WF_PAGE);

	wf_spin_lock(&c->lock, WF_RANK_SLOT_CLASS);
	wf_slot_fork_child();
	map(c);
}

static void test_stack_code(void **state)
{
	struct wf_slot_class *c = wf_slot_class_get(3 * STACK, WF_PAGE);
	struct wf_slot s = map(c), none = { .class = NULL };
	uintptr_t low = (uintptr_t)s.low;

	assert_false(wf_slot_allow_code(&none, low));
	assert_false(wf_slot_allow_code(&s, low + WF_PAGE - 1));
	assert_true(wf_slot_allow_code(&s, low + WF_PAGE));
	assert_true(wf_slot_allow_code(&s, low + c->stride - 1));
	assert_false(wf_slot_allow_code(&s, low + c->stride));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_class_of_sizes),
		cmocka_unit_test(test_rounding),
		cmocka_unit_test(test_absurd_sizes),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_default_stack),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_save_area),
		cmocka_unit_test(test_no_overlap),
		cmocka_unit_test(test_colours),
		cmocka_unit_test(test_much_tls),
		cmocka_unit_test(test_tls_alignment),
		cmocka_unit_test(test_guard_faults),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_trim_without_stack),
		cmocka_unit_test(test_all_classes),
		cmocka_unit_test(test_no_guard),
		cmocka_unit_test(test_user_stack),
		cmocka_unit_test(test_own_stack_again),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork_child),
		cmocka_unit_test(test_stack_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
