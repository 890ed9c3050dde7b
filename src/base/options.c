/* SPDX-License-Identifier: MIT */
/*
 * Parses the options of weft and finds misspelt names. The parsers are strict:
 * no blanks, plus signs, lower-case sizes or default units. So a slip is an
 * error and not another number. libc's parsers read the locale, write errno and
 * take "-1" for a large number, so they are not used.
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

/* Returns 0 if `suffix` is no unit. */
static uint64_t unit_factor(const struct unit *units, const char *suffix)
{
	for (; units->suffix != NULL; units++)
		if (is_equal(units->suffix, suffix))
			return units->factor;
	return 0;
}

/* Parses digits and a unit. A number beyond 64 bits is out of any range. */
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

/* Returns the number of the word in "a|b|c", or -EINVAL. */
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

/* Old names of values, accepted for one release after the renaming. */
static const struct {
	const char *option, *old_value, *new_value;
} renamed[] = {
	{ "io", "servers", "workers" },
};

const char *wf_option_new_value(const struct wf_option_row *row,
				const char *value)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(renamed); i++) {
		if (is_equal(renamed[i].option, row->option) &&
		    is_equal(renamed[i].old_value, value))
			return renamed[i].new_value;
	}
	return NULL;
}

static int set_choice(void *field, const struct wf_option_row *row,
		      const char *value)
{
	const char *new_value = wf_option_new_value(row, value);
	int number =
		find_word(row->value, new_value != NULL ? new_value : value);

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
	case WF_OPTION_SWITCH:
		return set_choice(field, r, value);
	}
	return -EINVAL;
}

/* --- names that are not in the table ------------------------------------ */

static size_t length(const char *s)
{
	size_t len = 0;

	while (s[len] != '\0')
		len++;
	return len;
}

static bool begins_with_bytes(const char *s, const char *prefix, size_t len)
{
	size_t i = 0;

	while (i < len && s[i] == prefix[i] && s[i] != '\0')
		i++;
	return i == len;
}

static bool begins_with(const char *s, const char *prefix)
{
	return begins_with_bytes(s, prefix, length(prefix));
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

enum { NAME_MAX_BYTES = 32, FAR = NAME_MAX_BYTES };

/* The last three rows of distance()'s matrix. */
struct rows {
	uint8_t before[NAME_MAX_BYTES + 1];
	uint8_t above[NAME_MAX_BYTES + 1];
	uint8_t row[NAME_MAX_BYTES + 1];
};

static void next_row(struct rows *r, size_t len)
{
	for (size_t k = 0; k <= len; k++) {
		r->before[k] = r->above[k];
		r->above[k] = r->row[k];
	}
}

/*
 * How many letters must be added, removed, changed or exchanged with the next
 * to turn one name into the other (Damerau-Levenshtein distance).
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	struct rows r;

	if (a_len > NAME_MAX_BYTES || b_len > NAME_MAX_BYTES)
		return FAR;
	for (size_t k = 0; k <= b_len; k++)
		r.row[k] = (uint8_t)k;
	for (size_t i = 1; i <= a_len; i++) {
		next_row(&r, b_len);
		r.row[0] = (uint8_t)i;
		for (size_t k = 1; k <= b_len; k++) {
			bool differs = a[i - 1] != b[k - 1];
			uint8_t d = 1 + lesser(r.above[k], r.row[k - 1]);

			d = lesser(d, r.above[k - 1] + differs);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				d = lesser(d, r.before[k - 2] + 1);
			r.row[k] = d;
		}
	}
	return r.row[b_len];
}

/* Accepts one slip in a short name, two in a long one, or a name cut short. */
static size_t slips(const char *name, size_t len, const char *known)
{
	const size_t short_name = 5;
	size_t d;

	if (len >= 2 && begins_with_bytes(known, name, len))
		return 1;
	d = distance(name, len, known, length(known));
	return d <= (len > short_name ? 2 : 1) ? d : FAR;
}

const struct wf_option_row *wf_option_nearest(const char *name, size_t len,
					      bool is_variable)
{
	const struct wf_option_row *nearest = NULL;
	size_t prefix = is_variable ? length(WF_OPTION_PREFIX) : 0;
	size_t best = FAR;

	for (size_t i = 0; i < wf_nr_options; i++) {
		const struct wf_option_row *r = &wf_option_rows[i];
		const char *known = is_variable ? r->variable : r->option;
		size_t nr = slips(name + prefix, len - prefix, known + prefix);

		if (nr < best) {
			best = nr;
			nearest = r;
		}
	}
	return nearest;
}

static size_t append(char *text, size_t len, const char *more, size_t more_len)
{
	for (size_t i = 0; i < more_len && len + 1 < WF_OPTION_TEXT_MAX; i++)
		text[len++] = more[i];
	text[len] = '\0';
	return len;
}

static size_t append_text(char *text, size_t len, const char *more)
{
	return append(text, len, more, length(more));
}

void wf_option_fault_text(const struct wf_option_fault *fault,
			  char ret_text[WF_OPTION_TEXT_MAX])
{
	const struct wf_option_row *nearest;
	size_t len = append(ret_text, 0, fault->name, fault->name_len);

	if (fault->row != NULL) {
		len = append_text(ret_text, len, ": '");
		len = append_text(ret_text, len, fault->value);
		len = append_text(ret_text, len, "' is not ");
		append_text(ret_text, len, fault->row->accepts);
		return;
	}
	len = append_text(ret_text, len, ": weft has no such variable");
	nearest = wf_option_nearest(fault->name, fault->name_len, true);
	if (nearest == NULL)
		return;
	len = append_text(ret_text, len, "; did you mean ");
	len = append_text(ret_text, len, nearest->variable);
	append_text(ret_text, len, "?");
}

/* Returns the first "NAME=VALUE" of that name, as getenv finds it, or NULL. */
static const char *find_variable(char *const *envp, const char *name)
{
	size_t len = length(name);

	for (; *envp != NULL; envp++) {
		if (begins_with(*envp, name) && (*envp)[len] == '=')
			return *envp;
	}
	return NULL;
}

static void name_fault(struct wf_option_fault *ret_fault, const char *variable,
		       const struct wf_option_row *row)
{
	size_t len = 0;

	while (variable[len] != '=' && variable[len] != '\0')
		len++;
	*ret_fault = (struct wf_option_fault){
		.name = variable,
		.name_len = len,
		.value = variable + len + (variable[len] == '='),
		.row = row,
	};
}

static bool is_known(const struct wf_option_fault *variable)
{
	for (size_t row = 0; row < wf_nr_options; row++) {
		const char *name = wf_option_rows[row].variable;

		if (length(name) == variable->name_len &&
		    begins_with(variable->name, name))
			return true;
	}
	return false;
}

bool wf_option_unknown(char *const **envp, struct wf_option_fault *ret_fault)
{
	for (; **envp != NULL; ++*envp) {
		struct wf_option_fault fault;

		if (!begins_with(**envp, WF_OPTION_PREFIX))
			continue;
		name_fault(&fault, **envp, NULL);
		if (is_known(&fault) ||
		    begins_with(**envp, WF_OPTION_COMMAND "="))
			continue;
		*ret_fault = fault;
		++*envp;
		return true;
	}
	return false;
}

const char *wf_options_next_renamed(size_t *row, char *const *envp,
				    struct wf_option_fault *ret_variable)
{
	while (*row < wf_nr_options) {
		const struct wf_option_row *r = &wf_option_rows[(*row)++];
		const char *variable = find_variable(envp, r->variable);
		const char *new_value;

		if (variable == NULL)
			continue;
		name_fault(ret_variable, variable, r);
		new_value = wf_option_new_value(r, ret_variable->value);
		if (new_value != NULL)
			return new_value;
	}
	return NULL;
}

int wf_options_load_env(struct wf_options *o, char *const *envp,
			struct wf_option_fault *ret_fault)
{
	struct wf_options loaded = *o;
	struct wf_option_fault fault;

	for (size_t row = 0; row < wf_nr_options; row++) {
		const struct wf_option_row *r = &wf_option_rows[row];
		const char *variable = find_variable(envp, r->variable);
		int err;

		if (variable == NULL)
			continue;
		err = wf_option_set(&loaded, row,
				    variable + length(r->variable) + 1);
		if (err < 0) {
			name_fault(ret_fault, variable, r);
			return err;
		}
	}
	while (wf_option_unknown(&envp, &fault)) {
		if (wf_option_nearest(fault.name, fault.name_len, true)) {
			*ret_fault = fault;
			return -ENOENT;
		}
	}
	*o = loaded;
	return 0;
}
