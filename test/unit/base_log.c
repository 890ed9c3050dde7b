/* SPDX-License-Identifier: MIT */
/* src/base/log.c: every conversion, cut lines, one write per line, panic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/upcall.h"

/* The last line that the sink got, with a terminating 0. */
static char line[1024];
static size_t line_len;
static int nr_lines;
static jmp_buf aborted;

static void log_write(const char *text, size_t len)
{
	assert_true(len < sizeof(line));
	memcpy(line, text, len);
	line[len] = '\0';
	line_len = len;
	nr_lines++;
}

static long log_thread_id(void)
{
	return 4194305;
}

static WF_NORETURN void end(void)
{
	longjmp(aborted, 1);
}

const struct wf_upcalls wf_upcall = {
	.log_write = log_write,
	.log_thread_id = log_thread_id,
	.abort = end,
};

/* Compares wf_format's result with that of libc's snprintf. */
#define assert_same_format(...)                                               \
	do {                                                                  \
		char ours[256], theirs[256];                                  \
		size_t len = wf_format(ours, sizeof(ours), __VA_ARGS__);      \
		int expected = snprintf(theirs, sizeof(theirs), __VA_ARGS__); \
		assert_string_equal(ours, theirs);                            \
		assert_int_equal(len, expected);                              \
	} while (0)

static void test_numbers(void **state)
{
	static const long values[] = { 0,	1,	 -1,	   9,	    10,
				       INT_MAX, INT_MIN, LONG_MAX, LONG_MIN };

	for (size_t i = 0; i < WF_ARRAY_LEN(values); i++) {
		long v = values[i];

		assert_same_format("%d|%u|%x", (int)v, (unsigned int)v,
				   (unsigned int)v);
		assert_same_format("%ld|%lu|%lx", v, (unsigned long)v,
				   (unsigned long)v);
		assert_same_format("%zu|%zu", (size_t)v, sizeof(v));
		assert_same_format("%lld|%llu|%llx", (long long)v,
				   (unsigned long long)v,
				   (unsigned long long)v);
	}
}

static void test_others(void **state)
{
	assert_same_format("%s", "");
	assert_same_format("a%sc%%%c", "b", 'd');
	assert_same_format("%%%%s");
	assert_same_format("%p", (void *)0x7fffdeadbeef);
	/* More arguments than fit into registers. */
	assert_same_format("%d %d %d %d %d %d %d %s %d %d", 1, 2, 3, 4, 5, 6, 7,
			   "eight", 9, 10);
}

/* The compiler would warn of these formats, so it must not see them. */
static size_t format_unchecked(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = wf_vformat(buf, size, fmt, ap);
	va_end(ap);
	return len;
}

static void test_odd_formats(void **state)
{
	char buf[64];

	format_unchecked(buf, sizeof(buf), "%s", NULL);
	assert_string_equal(buf, "(null)");
	format_unchecked(buf, sizeof(buf), "end%");
	assert_string_equal(buf, "end");
	format_unchecked(buf, sizeof(buf), "end%l");
	assert_string_equal(buf, "end");
	format_unchecked(buf, sizeof(buf), "%5d", 1);
	assert_string_equal(buf, "%5d");
	format_unchecked(buf, sizeof(buf), "");
	assert_string_equal(buf, "");
}

static void test_cut_at_every_length(void **state)
{
	static const char whole[] = "number -123, word abc, ff";

	for (size_t size = 0; size <= sizeof(whole) + 1; size++) {
		char buf[64];
		size_t expected = size == 0 ? 0 : size - 1, len;

		memset(buf, '#', sizeof(buf));
		len = wf_format(buf, size, "number %d, word %s, %x", -123,
				"abc", 255);
		if (expected > sizeof(whole) - 1)
			expected = sizeof(whole) - 1;
		assert_int_equal(len, expected);
		assert_memory_equal(buf, whole, len);
		if (size > 0)
			assert_int_equal(buf[len], '\0');
		assert_int_equal(buf[size], '#');
	}
}

static void test_line(void **state)
{
	errno = ENOTTY;
	nr_lines = 0;
	wf_log("%d threads, %s", 2000, "ready");
	assert_string_equal(line, "weft: 2000 threads, ready\n");
	assert_int_equal(line_len, strlen(line));
	assert_int_equal(nr_lines, 1);
	assert_int_equal(errno, ENOTTY);
}

static void test_long_line_is_cut(void **state)
{
	char text[600];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	wf_log("%s", text);
	assert_int_equal(line_len, 500);
	assert_int_equal(line[line_len - 1], '\n');
	assert_int_equal(line[line_len - 2], 'x');
}

static void needs(int condition)
{
	WF_CHECK(condition, "the sky fell");
}

static void test_panic(void **state)
{
	nr_lines = 0;
	needs(1);
	assert_int_equal(nr_lines, 0);
	if (setjmp(aborted) == 0) {
		needs(0);
		fail();
	}
	assert_string_equal(
		line, "weft: fatal in needs, thread 4194305: the sky fell\n");
	assert_int_equal(nr_lines, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_odd_formats),
		cmocka_unit_test(test_cut_at_every_length),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_long_line_is_cut),
		cmocka_unit_test(test_panic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
