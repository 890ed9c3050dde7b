/*
 * Strict by intent: no blanks, signs, lower-case sizes or default units, so
 * that a slip is an error and not another number. Own parsers, because libc's
 * read the locale, write errno and take "-1" for a large number.
 */
#include "base/options.h"

#include <errno.h>

#include "base/compiler.h"

struct wf_options wf_options;

#define ROW(name, opt, var, k, min, max, val, acc, text) \
	{ .option = opt,                                 \
	  .variable = var,                               \
	  .kind = WF_OPTION_##k,                         \
	  .least = (uint64_t)(min),                      \
	  .greatest = (uint64_t)(max),                   \
	  .value = val,                                  \
	  .accepts = acc,                                \
	  .help = text,                                  \
	  .offset = offsetof(struct wf_options, name) },

const struct wf_option_row wf_option_rows[] = { WF_OPTIONS_TABLE(ROW) };
const size_t wf_nr_options = WF_ARRAY_LEN(wf_option_rows);

struct unit {
	const char *suffix;
	uint64_t factor;
};

static const struct unit no_units[] = { { "", 1 }, { NULL, 0 } };

static const struct unit size_units[] = {
	{ "", 1 },	  { "K", 1 << 10 }, { "M", 1 << 20 },
	{ "G", 1 << 30 }, { NULL, 0 },
};

static const struct unit time_units[] = {
	{ "ns", 1 },	     { "us", 1000 }, { "ms", 1000000 },
	{ "s", 1000000000 }, { NULL, 0 },
};

static bool is_equal(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* 0 if `suffix` is no unit. */
static uint64_t unit_factor(const struct unit *units, const char *suffix)
{
	for (; units->suffix != NULL; units++)
		if (is_equal(units->suffix, suffix))
			return units->factor;
	return 0;
}

/* Digits and a unit. A number too large for 64 bits is out of any range. */
static int parse_number(const char *s, const struct unit *units,
			uint64_t *ret_number)
{
	const char *start = s;
	bool is_huge = false;
	uint64_t n = 0;
	uint64_t factor;

	for (; *s >= '0' && *s <= '9'; s++) {
		is_huge |= __builtin_mul_overflow(n, 10, &n);
		is_huge |= __builtin_add_overflow(n, *s - '0', &n);
	}
	if (s == start)
		return -EINVAL;
	factor = unit_factor(units, s);
	if (factor == 0)
		return -EINVAL;
	if (is_huge || __builtin_mul_overflow(n, factor, &n))
		return -ERANGE;
	*ret_number = n;
	return 0;
}

static int set_number(void *field, const struct wf_option_row *row,
		      const struct unit *units, const char *value)
{
	uint64_t n;
	int err = parse_number(value, units, &n);

	if (err < 0)
		return err;
	if (n < row->least || n > row->greatest)
		return -ERANGE;
	*(uint64_t *)field = n;
	return 0;
}

static int set_signed(void *field, const struct wf_option_row *row,
		      const char *value)
{
	bool is_negative = *value == '-';
	uint64_t n;
	int64_t number;
	int err = parse_number(value + is_negative, no_units, &n);

	if (err < 0)
		return err;
	if (n > INT64_MAX)
		return -ERANGE;
	number = is_negative ? -(int64_t)n : (int64_t)n;
	if (number < (int64_t)row->least || number > (int64_t)row->greatest)
		return -ERANGE;
	*(int64_t *)field = number;
	return 0;
}

static int set_time(void *field, const struct wf_option_row *row,
		    const char *value)
{
	if (is_equal(value, "0")) {
		*(uint64_t *)field = 0;
		return 0;
	}
	return set_number(field, row, time_units, value);
}

static int set_flag(void *field, const char *value)
{
	if (!is_equal(value, "0") && !is_equal(value, "1"))
		return -EINVAL;
	*(bool *)field = value[0] == '1';
	return 0;
}

static int set_string(void *field, const char *value)
{
	char *to = field;
	size_t len = 0;

	while (value[len] != '\0')
		if (++len == WF_OPTION_STRING_MAX)
			return -ERANGE;
	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i <= len; i++)
		to[i] = value[i];
	return 0;
}

/* The number of the word in "a|b|c", or -EINVAL. */
static int find_word(const char *words, const char *word)
{
	for (int number = 0;; number++) {
		const char *w = word;

		while (*words == *w && *words != '|' && *words != '\0') {
			words++;
			w++;
		}
		if (*w == '\0' && (*words == '|' || *words == '\0'))
			return number;
		while (*words != '|' && *words != '\0')
			words++;
		if (*words++ == '\0')
			return -EINVAL;
	}
}

static int set_choice(void *field, const struct wf_option_row *row,
		      const char *value)
{
	int number = find_word(row->value, value);

	if (number < 0)
		return number;
	*(uint32_t *)field = (uint32_t)number;
	return 0;
}

int wf_option_set(struct wf_options *o, size_t row, const char *value)
{
	const struct wf_option_row *r = &wf_option_rows[row];
	void *field = (char *)o + r->offset;

	switch (r->kind) {
	case WF_OPTION_COUNT:
		return set_number(field, r, no_units, value);
	case WF_OPTION_SIGNED:
		return set_signed(field, r, value);
	case WF_OPTION_SIZE:
		return set_number(field, r, size_units, value);
	case WF_OPTION_TIME:
		return set_time(field, r, value);
	case WF_OPTION_FLAG:
		return set_flag(field, value);
	case WF_OPTION_STRING:
		return set_string(field, value);
	case WF_OPTION_CHOICE:
		return set_choice(field, r, value);
	}
	return -EINVAL;
}

/* The first value of the name, as getenv finds it, or NULL. */
static const char *find_variable(char *const *envp, const char *name)
{
	for (; *envp != NULL; envp++) {
		const char *s = *envp;
		const char *n = name;

		while (*n != '\0' && *s == *n) {
			s++;
			n++;
		}
		if (*n == '\0' && *s == '=')
			return s + 1;
	}
	return NULL;
}

int wf_options_load_env(struct wf_options *o, char *const *envp,
			const char **ret_bad_name)
{
	struct wf_options loaded = *o;

	for (size_t row = 0; row < wf_nr_options; row++) {
		const char *name = wf_option_rows[row].variable;
		const char *value = find_variable(envp, name);
		int err;

		if (value == NULL)
			continue;
		err = wf_option_set(&loaded, row, value);
		if (err < 0) {
			*ret_bad_name = name;
			return err;
		}
	}
	*o = loaded;
	return 0;
}
