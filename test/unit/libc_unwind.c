/* SPDX-License-Identifier: MIT */
/*
 * src/libc/unwind.c finds the bounds of functions of this program and of libc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "libc/real.h"
#include "libc/unwind.h"

struct wf_real wf_real = { .dl_iterate_phdr = dl_iterate_phdr };

static void assert_function(uintptr_t start)
{
	uintptr_t low = 0, high = 0, low2 = 0, high2 = 0;

	assert_true(wf_unwind_function(start, &low, &high));
	assert_int_equal(low, start);
	assert_true(high > low);
	/* The last byte belongs to the function, the next byte does not. */
	assert_true(wf_unwind_function(high - 1, &low2, &high2));
	assert_int_equal(low2, low);
	assert_int_equal(high2, high);
	if (wf_unwind_function(high, &low2, &high2))
		assert_true(low2 >= high);
}

static void test_own_functions(void **state)
{
	assert_function((uintptr_t)assert_function);
	assert_function((uintptr_t)test_own_functions);
	assert_function((uintptr_t)wf_unwind_function);
}

static void test_functions_of_libc(void **state)
{
	static const char *const names[] = { "memset", "memcpy",  "strlen",
					     "strcmp", "memmove", "qsort",
					     "malloc" };

	/* dlsym returns the addresses that indirect functions resolve to. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_function((uintptr_t)dlsym(RTLD_DEFAULT, names[i]));
}

static void test_no_function(void **state)
{
	static const char data[64];
	uintptr_t low = 1, high = 2;
	void *heap = malloc(16);

	assert_false(wf_unwind_function((uintptr_t)data, &low, &high));
	assert_false(wf_unwind_function((uintptr_t)heap, &low, &high));
	assert_false(wf_unwind_function(0, &low, &high));
	assert_false(wf_unwind_function(UINTPTR_MAX, &low, &high));
	assert_int_equal(low, 1);
	assert_int_equal(high, 2);
	free(heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_functions),
		cmocka_unit_test(test_functions_of_libc),
		cmocka_unit_test(test_no_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
