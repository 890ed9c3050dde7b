/* SPDX-License-Identifier: MIT */
/* src/base/options.c: every kind of option, its limits, and refused values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/options.h"

static size_t row_of(const char *option)
{
	for (size_t row = 0; row < wf_nr_options; row++)
		if (strcmp(wf_option_rows[row].option, option) == 0)
			return row;
	fail_msg("no option %s", option);
	return 0;
}

struct number_case {
	const char *option;
	const char *value;
	int result;
	uint64_t stored;
};

static const struct number_case number_cases[] = {
	{ "vps", "1", 0, 1 },
	{ "vps", "007", 0, 7 },
	{ "vps", "1024", 0, 1024 },
	{ "vps", "0", -ERANGE, 0 },
	{ "vps", "1025", -ERANGE, 0 },
	{ "vps", "18446744073709551617", -ERANGE, 0 },
	{ "vps", "", -EINVAL, 0 },
	{ "vps", "four", -EINVAL, 0 },
	{ "vps", "4 ", -EINVAL, 0 },
	{ "vps", " 4", -EINVAL, 0 },
	{ "vps", "+4", -EINVAL, 0 },
	{ "vps", "-4", -EINVAL, 0 },
	{ "vps", "4K", -EINVAL, 0 },
	{ "vps", "0x4", -EINVAL, 0 },
	{ "io-nice", "-20", 0, (uint64_t)-20 },
	{ "io-nice", "-0", 0, 0 },
	{ "io-nice", "19", 0, 19 },
	{ "io-nice", "-21", -ERANGE, 0 },
	{ "io-nice", "20", -ERANGE, 0 },
	{ "io-nice", "18446744073709551615", -ERANGE, 0 },
	{ "io-nice", "-18446744073709551616", -ERANGE, 0 },
	{ "io-nice", "", -EINVAL, 0 },
	{ "io-nice", "-", -EINVAL, 0 },
	{ "io-nice", "--1", -EINVAL, 0 },
	{ "io-nice", "+1", -EINVAL, 0 },
	{ "io-nice", "1K", -EINVAL, 0 },
	{ "stack-size", "16384", 0, 16384 },
	{ "stack-size", "16383", -ERANGE, 0 },
	{ "stack-size", "16K", 0, 16384 },
	{ "stack-size", "2M", 0, 2 << 20 },
	{ "stack-size", "3G", 0, 3ULL << 30 },
	{ "stack-size", "1024G", 0, 1ULL << 40 },
	{ "stack-size", "1025G", -ERANGE, 0 },
	{ "stack-size", "0", -ERANGE, 0 },
	{ "stack-size", "17179869184G", -ERANGE, 0 },
	{ "stack-size", "99999999999999999999999K", -ERANGE, 0 },
	{ "stack-size", "K", -EINVAL, 0 },
	{ "stack-size", "64k", -EINVAL, 0 },
	{ "stack-size", "64KB", -EINVAL, 0 },
	{ "stack-size", "1.5M", -EINVAL, 0 },
	{ "preempt-every", "0", 0, 0 },
	{ "preempt-every", "10us", 0, 10000 },
	{ "preempt-every", "10000ns", 0, 10000 },
	{ "preempt-every", "9us", -ERANGE, 0 },
	{ "preempt-every", "0us", -ERANGE, 0 },
	{ "preempt-every", "1ms", 0, 1000000 },
	{ "preempt-every", "2s", 0, 2000000000 },
	{ "preempt-every", "3600s", 0, 3600000000000 },
	{ "preempt-every", "3601s", -ERANGE, 0 },
	{ "preempt-every", "18446744074s", -ERANGE, 0 },
	{ "preempt-every", "100", -EINVAL, 0 },
	{ "preempt-every", "us", -EINVAL, 0 },
	{ "preempt-every", "1m", -EINVAL, 0 },
	{ "preempt-every", "1 ms", -EINVAL, 0 },
};

static void numbers(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(number_cases); i++) {
		const struct number_case *c = &number_cases[i];
		size_t row = row_of(c->option);
		struct wf_options o = { 0 };
		uint64_t *field =
			(uint64_t *)((char *)&o + wf_option_rows[row].offset);

		*field = 12345;
		if (wf_option_set(&o, row, c->value) != c->result)
			fail_msg("--%s %s", c->option, c->value);
		assert_int_equal(*field, c->result == 0 ? c->stored : 12345);
	}
}

static void flags(void **state)
{
	struct wf_options o = { 0 };
	size_t row = row_of("no-children");

	assert_int_equal(wf_option_set(&o, row, "1"), 0);
	assert_true(o.no_children);
	assert_int_equal(wf_option_set(&o, row, "yes"), -EINVAL);
	assert_int_equal(wf_option_set(&o, row, "11"), -EINVAL);
	assert_int_equal(wf_option_set(&o, row, ""), -EINVAL);
	assert_true(o.no_children);
	assert_int_equal(wf_option_set(&o, row, "0"), 0);
	assert_false(o.no_children);
}

static void switches(void **state)
{
	struct wf_options o = { 0 };
	size_t row = row_of("stats");

	assert_int_equal(wf_option_set(&o, row, "1"), 0);
	assert_int_equal(o.stats, WF_STATS_TEXT);
	assert_int_equal(wf_option_set(&o, row, "json"), 0);
	assert_int_equal(o.stats, WF_STATS_JSON);
	assert_int_equal(wf_option_set(&o, row, "JSON"), -EINVAL);
	assert_int_equal(wf_option_set(&o, row, "2"), -EINVAL);
	assert_int_equal(wf_option_set(&o, row, ""), -EINVAL);
	assert_int_equal(o.stats, WF_STATS_JSON);
	assert_int_equal(wf_option_set(&o, row, "0"), 0);
	assert_int_equal(o.stats, WF_STATS_NONE);
}

static void strings(void **state)
{
	char text[WF_OPTION_STRING_MAX + 1];
	struct wf_options o = { 0 };
	size_t row = row_of("bound");

	assert_int_equal(wf_option_set(&o, row, "libGL"), 0);
	assert_string_equal(o.bound, "libGL");
	assert_int_equal(wf_option_set(&o, row, ""), -EINVAL);
	memset(text, 'x', sizeof(text));
	text[WF_OPTION_STRING_MAX] = '\0';
	assert_int_equal(wf_option_set(&o, row, text), -ERANGE);
	assert_string_equal(o.bound, "libGL");
	text[WF_OPTION_STRING_MAX - 1] = '\0';
	assert_int_equal(wf_option_set(&o, row, text), 0);
	assert_string_equal(o.bound, text);
}

struct choice_case {
	const char *value;
	int result;
	uint32_t stored;
};

static const struct choice_case choice_cases[] = {
	{ "adaptive", 0, WF_WAIT_ADAPTIVE },
	{ "poll", 0, WF_WAIT_POLL },
	{ "park", 0, WF_WAIT_PARK },
	{ "", -EINVAL, 0 },
	{ "par", -EINVAL, 0 },
	{ "parks", -EINVAL, 0 },
	{ "Poll", -EINVAL, 0 },
	{ "poll|", -EINVAL, 0 },
	{ "poll|park", -EINVAL, 0 },
	{ "|", -EINVAL, 0 },
	{ "1", -EINVAL, 0 },
};

static void choices(void **state)
{
	size_t row = row_of("wait");

	for (size_t i = 0; i < WF_ARRAY_LEN(choice_cases); i++) {
		const struct choice_case *c = &choice_cases[i];
		struct wf_options o = { .wait = 77 };

		if (wf_option_set(&o, row, c->value) != c->result)
			fail_msg("--wait '%s'", c->value);
		assert_int_equal(o.wait, c->result == 0 ? c->stored : 77);
	}
}

static void environment(void **state)
{
	char *env[] = { "WEFTS=9",	 "XWEFT_VP=9",		"PATH=/bin",
			"WEFT_VPS=3",	 "WEFT_VPS=four",	"WEFT_STATS=1",
			"weft_other=77", "WEFT_STACK_SIZE=64K", NULL };
	struct wf_options o = { 0 };
	struct wf_option_fault fault = { .name = "untouched" };

	assert_int_equal(wf_options_load_env(&o, env, &fault), 0);
	assert_string_equal(fault.name, "untouched");
	assert_int_equal(o.vps, 3);
	assert_true(o.stats);
	assert_int_equal(o.stack_size, 65536);
	assert_int_equal(o.preempt_every, 0);
	assert_string_equal(o.bound, "");
}

static void environment_error(void **state)
{
	char *malformed[] = { "WEFT_STATS=1", "WEFT_PREEMPT_EVERY=", NULL };
	char *outside[] = { "WEFT_VPS=4096", NULL };
	char *nothing[] = { NULL };
	struct wf_options o = { .vps = 5 };
	struct wf_option_fault fault;
	char text[WF_OPTION_TEXT_MAX];

	assert_int_equal(wf_options_load_env(&o, malformed, &fault), -EINVAL);
	assert_string_equal(fault.row->variable, "WEFT_PREEMPT_EVERY");
	assert_false(o.stats);
	assert_int_equal(wf_options_load_env(&o, outside, &fault), -ERANGE);
	wf_option_fault_text(&fault, text);
	assert_string_equal(text,
			    "WEFT_VPS: '4096' is not a number from 1 to 1024");
	assert_int_equal(wf_options_load_env(&o, nothing, &fault), 0);
	assert_int_equal(o.vps, 5);
}

static const struct {
	const char *variable, *means;
} slips[] = {
	{ "WEFT_VPZ=1", "WEFT_VPS" },
	{ "WEFT_VSP=1", "WEFT_VPS" },
	{ "WEFT_VP=", "WEFT_VPS" },
	{ "WEFT_STACKSIZE=64K", "WEFT_STACK_SIZE" },
	{ "WEFT_STAKC_SIZ=64K", "WEFT_STACK_SIZE" },
	{ "WEFT_PREEMPT=1ms", "WEFT_PREEMPT_EVERY" },
	{ "WEFT_STAT=1", "WEFT_STATS" },
	{ "WEFT_NO_CHILD=1", "WEFT_NO_CHILDREN" },
};

/* An unknown name is a fault if it resembles a known one. */
static void slips_of_names(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(slips); i++) {
		char *env[] = { "WEFT_STATS=1", (char *)slips[i].variable,
				NULL };
		size_t len = strcspn(slips[i].variable, "=");
		struct wf_options o = { 0 };
		struct wf_option_fault fault;
		char text[WF_OPTION_TEXT_MAX];

		assert_int_equal(wf_options_load_env(&o, env, &fault), -ENOENT);
		assert_false(o.stats);
		assert_null(fault.row);
		wf_option_fault_text(&fault, text);
		assert_memory_equal(text, slips[i].variable, len);
		assert_non_null(strstr(text, slips[i].means));
	}
}

/* Other programs' names are ignored, and listed for a warning. */
static void names_of_others(void **state)
{
	char *env[] = { "WEFT_=1",
			"WEFT_SERVICE_HOST=10.0.0.1",
			"WEFT_VPS=2",
			"WEFT_FOO=",
			"WEFT_A_NAME_OF_MORE_THAN_THIRTY_TWO_BYTES=1",
			NULL };
	char *const *rest = env;
	struct wf_options o = { 0 };
	struct wf_option_fault fault;
	char text[WF_OPTION_TEXT_MAX];
	int nr = 0;

	assert_int_equal(wf_options_load_env(&o, env, &fault), 0);
	assert_int_equal(o.vps, 2);
	while (wf_option_unknown(&rest, &fault)) {
		wf_option_fault_text(&fault, text);
		assert_non_null(strstr(text, "weft has no such variable"));
		assert_null(strstr(text, "did you mean"));
		nr++;
	}
	assert_int_equal(nr, 4);
}

/* A too long text is cut off and terminated. */
static void long_value(void **state)
{
	char value[2 * WF_OPTION_TEXT_MAX] = "WEFT_VPS=";
	char *env[] = { value, NULL };
	struct wf_options o = { 0 };
	struct wf_option_fault fault;
	char text[WF_OPTION_TEXT_MAX];

	memset(value + strlen(value), '7', sizeof(value) - strlen(value) - 1);
	assert_int_equal(wf_options_load_env(&o, env, &fault), -ERANGE);
	wf_option_fault_text(&fault, text);
	assert_int_equal(strlen(text), WF_OPTION_TEXT_MAX - 1);
}

/*
 * The previous release's name of a value still works, and a warning names the
 * new one.
 */
static void renamed_value(void **state)
{
	char *env[] = { "WEFT_WAIT=park", "WEFT_IO=servers", NULL };
	char *now[] = { "WEFT_IO=workers", NULL };
	struct wf_options o = { 0 };
	struct wf_option_fault fault;
	size_t row = 0;

	assert_int_equal(wf_options_load_env(&o, env, &fault), 0);
	assert_int_equal(o.io, WF_IO_WORKERS);
	assert_string_equal(wf_options_next_renamed(&row, env, &fault),
			    "workers");
	assert_string_equal(fault.row->variable, "WEFT_IO");
	assert_string_equal(fault.value, "servers");
	assert_null(wf_options_next_renamed(&row, env, &fault));
	row = 0;
	assert_null(wf_options_next_renamed(&row, now, &fault));
}

/* A variable is its option's name in capitals; every row has an explanation. */
static void table(void **state)
{
	for (size_t row = 0; row < wf_nr_options; row++) {
		const struct wf_option_row *r = &wf_option_rows[row];
		const char *v = r->variable + strlen("WEFT_");

		for (const char *s = r->option; *s != '\0'; s++, v++)
			assert_int_equal(*v, *s == '-' ? '_' : *s - 'a' + 'A');
		assert_int_equal(*v, '\0');
		assert_true(strlen(r->help) > 0 && strlen(r->accepts) > 0);
		assert_true((r->kind == WF_OPTION_FLAG) == (*r->value == '\0'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(flags),
		cmocka_unit_test(switches),
		cmocka_unit_test(strings),
		cmocka_unit_test(choices),
		cmocka_unit_test(environment),
		cmocka_unit_test(environment_error),
		cmocka_unit_test(slips_of_names),
		cmocka_unit_test(names_of_others),
		cmocka_unit_test(long_value),
		cmocka_unit_test(renamed_value),
		cmocka_unit_test(table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
