/* SPDX-License-Identifier: MIT */
/*
 * src/trace/report.c: both formats have the same values; where reports are
 * written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/options.h"
#include "os/output.h"
#include "trace/counters.h"
#include "trace/report.h"

static const struct row {
	const char *key, *text;
} rows[] = {
#define X(name, key, text) { #key, text },
	WF_COUNTERS(X) WF_MAXIMA(X)
#undef X
};

static const size_t nr_maxima = 0
#define X(name, key, text) +1
	WF_MAXIMA(X)
#undef X
	;

static struct wf_counters of_vp[2];
static const struct wf_counters *const of_vps[] = { &of_vp[0], &of_vp[1] };

/* The bytes written to standard error. */
static char said[8192];
static bool has_stderr;

bool wf_os_stderr_is_there(void)
{
	return has_stderr;
}

void wf_os_write_quietly(int fd, const char *bytes, size_t nr)
{
	if (fd != STDERR_FILENO) {
		assert_int_equal(write(fd, bytes, nr), (ssize_t)nr);
		return;
	}
	assert_true(strlen(said) + nr < sizeof(said));
	strncat(said, bytes, nr);
}

static uint64_t value_of(size_t row)
{
	bool is_maximum = row >= WF_ARRAY_LEN(rows) - nr_maxima;

	/* The sum of three values, or their maximum. */
	return is_maximum ? 300 + row : 321 + 3 * row;
}

/*
 * Row r has 1 + r for the process, 20 + r for the first VP and 300 + r for the
 * second.
 */
static int set_up(void **state)
{
	struct wf_counters *const all[] = { &wf_counters, &of_vp[0],
					    &of_vp[1] };
	const uint64_t base[] = { 1, 20, 300 };

	for (size_t i = 0; i < WF_ARRAY_LEN(all); i++) {
		_Atomic uint64_t *fields = (_Atomic uint64_t *)all[i];

		for (size_t row = 0; row < WF_ARRAY_LEN(rows); row++)
			fields[row] = base[i] + row;
	}
	memset(&wf_options, 0, sizeof(wf_options));
	memset(said, 0, sizeof(said));
	has_stderr = true;
	program_invocation_short_name = "prog";
	return 0;
}

static void text_form(void **state)
{
	char expected[8192];
	size_t len;

	wf_options.stats = WF_STATS_TEXT;
	wf_report_print(of_vps, 2);
	len = (size_t)sprintf(
		expected, "weft: statistics of prog (process %d)\n", getpid());
	for (size_t row = 0; row < WF_ARRAY_LEN(rows); row++)
		len += (size_t)sprintf(expected + len, "weft: %s: %lu\n",
				       rows[row].text, value_of(row));
	assert_string_equal(said, expected);
}

static void json_form(void **state)
{
	char expected[8192];
	size_t len;

	wf_options.stats = WF_STATS_JSON;
	wf_report_print(of_vps, 2);
	len = (size_t)sprintf(expected,
			      "{\"program\": \"prog\", "
			      "\"process\": %d",
			      getpid());
	for (size_t row = 0; row < WF_ARRAY_LEN(rows); row++)
		len += (size_t)sprintf(expected + len, ", \"%s\": %lu",
				       rows[row].key, value_of(row));
	sprintf(expected + len, "}\n");
	assert_string_equal(said, expected);
}

static void no_threads(void **state)
{
	wf_options.stats = WF_STATS_TEXT;
	wf_report_print(NULL, 0);
	assert_non_null(strstr(said, ") made no threads\n"));
	said[0] = '\0';
	wf_options.stats = WF_STATS_JSON;
	wf_report_print(NULL, 0);
	assert_non_null(strstr(said, "\"threads_made\": 1, "));
}

static void name_with_any_bytes(void **state)
{
	wf_options.stats = WF_STATS_JSON;
	program_invocation_short_name = "a\"b\\c\n\x7f\xc3\xa9~ ";
	wf_report_print(of_vps, 2);
	assert_non_null(strstr(said, "{\"program\": \"a\\\"b\\\\c????~ \", "));
}

/* Each report is appended to the file; standard error gets nothing. */
static void file(void **state)
{
	char name[] = "/tmp/weft-report-XXXXXX";
	int fd = mkstemp(name);
	char found[16384];
	ssize_t len;

	assert_true(fd >= 0);
	strcpy(wf_options.stats_file, name);
	wf_options.stats = WF_STATS_JSON;
	has_stderr = false;
	wf_report_print(of_vps, 2);
	wf_report_print(NULL, 0);
	unlink(name);
	len = read(fd, found, sizeof(found) - 1);
	close(fd);
	assert_true(len > 0);
	found[len] = '\0';
	assert_string_equal(said, "");
	assert_ptr_equal(strstr(found, "{\"program\""), found);
	assert_non_null(strstr(found, "}\n{\"program\""));
	assert_int_equal(found[len - 1], '\n');
}

static void file_is_made(void **state)
{
	char folder[] = "/tmp/weft-report-XXXXXX";
	struct stat st;

	assert_non_null(mkdtemp(folder));
	sprintf(wf_options.stats_file, "%s/new", folder);
	wf_options.stats = WF_STATS_TEXT;
	wf_report_print(of_vps, 2);
	assert_int_equal(stat(wf_options.stats_file, &st), 0);
	assert_true(st.st_size > 0);
	unlink(wf_options.stats_file);
	rmdir(folder);
	assert_string_equal(said, "");
}

static void file_that_cannot_be_opened(void **state)
{
	strcpy(wf_options.stats_file, "/proc/none/file");
	wf_options.stats = WF_STATS_TEXT;
	wf_report_print(of_vps, 2);
	assert_non_null(strstr(said, "weft: statistics of prog"));
}

/* Descriptor 2 is no longer standard error. */
static void no_standard_error(void **state)
{
	has_stderr = false;
	wf_options.stats = WF_STATS_TEXT;
	wf_report_print(of_vps, 2);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(text_form, set_up),
		cmocka_unit_test_setup(json_form, set_up),
		cmocka_unit_test_setup(no_threads, set_up),
		cmocka_unit_test_setup(name_with_any_bytes, set_up),
		cmocka_unit_test_setup(file, set_up),
		cmocka_unit_test_setup(file_is_made, set_up),
		cmocka_unit_test_setup(file_that_cannot_be_opened, set_up),
		cmocka_unit_test_setup(no_standard_error, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
