/* SPDX-License-Identifier: MIT */
/*
 * src/arch/string.c, which replaces libc's functions in this program, against
 * loops that do the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "random.h"

enum { SIZE = 700, NR_ROUNDS = 20000 };

/* volatile, so the compiler cannot replace the calls. */
static void *(*volatile do_memcpy)(void *, const void *, size_t) = memcpy;
static void *(*volatile do_memmove)(void *, const void *, size_t) = memmove;
static void *(*volatile do_memset)(void *, int, size_t) = memset;
static int (*volatile do_memcmp)(const void *, const void *, size_t) = memcmp;
static size_t (*volatile do_strlen)(const char *) = strlen;
static size_t (*volatile do_strnlen)(const char *, size_t) = strnlen;
static int (*volatile do_strcmp)(const char *, const char *) = strcmp;
static int (*volatile do_strncmp)(const char *, const char *, size_t) = strncmp;
static char *(*volatile do_strrchr)(const char *, int) = strrchr;
static char *(*volatile do_strstr)(const char *, const char *) = strstr;

static unsigned char actual[SIZE], expected[SIZE];

static void fill(struct test_random *r)
{
	for (int i = 0; i < SIZE; i++)
		actual[i] = expected[i] = (unsigned char)test_random(r, 256);
}

static void assert_same(void)
{
	for (int i = 0; i < SIZE; i++)
		assert_int_equal(actual[i], expected[i]);
}

static void test_copy(void **state)
{
	struct test_random r = { test_seed() };

	for (int round = 0; round < NR_ROUNDS; round++) {
		uint32_t len = test_random(&r, 200);
		uint32_t from = test_random(&r, 100);
		uint32_t to = 300 + test_random(&r, 100);

		fill(&r);
		for (uint32_t i = 0; i < len; i++)
			expected[to + i] = actual[from + i];
		assert_ptr_equal(do_memcpy(actual + to, actual + from, len),
				 actual + to);
		assert_same();
	}
}

static void test_move(void **state)
{
	struct test_random r = { test_seed() };
	unsigned char old[SIZE];

	for (int round = 0; round < NR_ROUNDS; round++) {
		uint32_t len = test_random(&r, 200);
		uint32_t from = test_random(&r, 400);
		uint32_t to = from + test_random(&r, 300) - 150;

		if (to > 400)
			continue;
		fill(&r);
		for (int i = 0; i < SIZE; i++)
			old[i] = actual[i];
		for (uint32_t i = 0; i < len; i++)
			expected[to + i] = old[from + i];
		assert_ptr_equal(do_memmove(actual + to, actual + from, len),
				 actual + to);
		assert_same();
	}
}

static void test_set(void **state)
{
	struct test_random r = { test_seed() };

	for (int round = 0; round < NR_ROUNDS; round++) {
		uint32_t len = test_random(&r, 300), to = test_random(&r, 300);
		int byte = (int)test_random(&r, 1000) - 500;

		fill(&r);
		for (uint32_t i = 0; i < len; i++)
			expected[to + i] = (unsigned char)byte;
		assert_ptr_equal(do_memset(actual + to, byte, len),
				 actual + to);
		assert_same();
	}
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static void test_memcmp(void **state)
{
	struct test_random r = { test_seed() };

	for (int round = 0; round < NR_ROUNDS; round++) {
		uint32_t len = test_random(&r, 50), at = test_random(&r, 60);
		int wanted;

		fill(&r);
		expected[at] = (unsigned char)test_random(&r, 256);
		wanted = at < len ? sign(actual[at] - expected[at]) : 0;
		assert_int_equal(sign(do_memcmp(actual, expected, len)),
				 wanted);
	}
}

static void test_lengths(void **state)
{
	static const char text[] = "0123456789\0more";

	for (size_t i = 0; i <= 10; i++) {
		assert_int_equal(do_strlen(text + i), 10 - i);
		assert_int_equal(do_strnlen(text + i, 100), 10 - i);
		assert_int_equal(do_strnlen(text, i), i);
	}
	assert_int_equal(do_strnlen(text, 0), 0);
}

static void test_order(void **state)
{
	static const char *const texts[] = { "",    "a",  "aa",	  "ab",
					     "abc", "ba", "\x80", "\xff" };

	for (int i = 0; i < 8; i++) {
		for (int j = 0; j < 8; j++)
			assert_int_equal(sign(do_strcmp(texts[i], texts[j])),
					 sign(i - j));
	}
	assert_int_equal(do_strncmp("abc", "abd", 2), 0);
	assert_true(do_strncmp("abc", "abd", 3) < 0);
	assert_int_equal(do_strncmp("x", "y", 0), 0);
	assert_int_equal(do_strncmp("ab\0x", "ab\0y", 4), 0);
}

static void test_search(void **state)
{
	static const char path[] = "/usr/lib/libc.so.6";

	assert_string_equal(do_strrchr(path, '/'), "/libc.so.6");
	assert_ptr_equal(do_strrchr(path, '\0'), path + 18);
	assert_null(do_strrchr(path, 'x'));
	assert_null(do_strrchr("", '/'));
	assert_ptr_equal(do_strstr(path, "lib"), path + 5);
	assert_string_equal(do_strstr(path, "libc"), "libc.so.6");
	assert_ptr_equal(do_strstr(path, ""), path);
	assert_ptr_equal(do_strstr(path, "6"), path + 17);
	assert_null(do_strstr(path, "6x"));
	assert_null(do_strstr(path, "libd"));
	assert_string_equal(do_strstr("aaab", "aab"), "aab");
	assert_string_equal(do_strstr("", ""), "");
	assert_null(do_strstr("", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),	cmocka_unit_test(test_move),
		cmocka_unit_test(test_set),	cmocka_unit_test(test_memcmp),
		cmocka_unit_test(test_lengths), cmocka_unit_test(test_order),
		cmocka_unit_test(test_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
