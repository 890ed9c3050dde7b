/* SPDX-License-Identifier: MIT */
/*
 * The newer names of Rust (RFC 2603): a grammar in prefix form. One function
 * reads each of its symbols and writes the text. A letter says which form of
 * the symbol follows. "B" and a number stand for an earlier place of the name,
 * from which a part is read once more.
 *
 * Left out: values of structs, arrays and strings as arguments of types, which
 * stable Rust does not have. Such a name stays as it is.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "rust_name.h"
#include "rust_text.h"

enum { MOST_LIFETIMES = 256 }; /* that one "for" names */

static void path(struct wf_rust_name *n, bool is_value);
static void type(struct wf_rust_name *n);

/* Reads items up to "E". Returns their number. */
static uint32_t list(struct wf_rust_name *n,
		     void (*item)(struct wf_rust_name *n), const char *comma)
{
	uint32_t nr = 0;

	while (!n->is_wrong && !wf_rust_eat(n, 'E')) {
		if (nr++ > 0)
			wf_rust_put(n, comma);
		item(n);
	}
	return nr;
}

/* --- lifetimes ----------------------------------------------------------- */

/* 1 is the innermost of those that the "for"s around it name, 0 is none. */
static void put_lifetime(struct wf_rust_name *n, uint64_t index)
{
	uint64_t at = n->nr_lifetimes - index;

	if (index > n->nr_lifetimes)
		wf_rust_fail(n);
	else if (index == 0)
		wf_rust_put(n, "'_");
	else if (at < 26)
		wf_rust_put_formatted(n, "'%c", (char)('a' + at));
	else
		wf_rust_put_formatted(n, "'_%" PRIu64, at);
}

/* Returns how many lifetimes to forget at the end. */
static uint32_t name_lifetimes(struct wf_rust_name *n)
{
	uint64_t nr = wf_rust_number_if(n, 'G');

	if (nr > MOST_LIFETIMES) {
		wf_rust_fail(n);
		return 0;
	}
	for (uint64_t i = 0; i < nr; i++) {
		wf_rust_put(n, i == 0 ? "for<" : ", ");
		n->nr_lifetimes++;
		put_lifetime(n, 1);
	}
	if (nr > 0)
		wf_rust_put(n, "> ");
	return (uint32_t)nr;
}

/* --- constants ----------------------------------------------------------- */

/* Hexadecimal digits up to "_". More than 64 bits: len > 16. */
static uint64_t digits_16(struct wf_rust_name *n, const char **ret_digits,
			  size_t *ret_len)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	size_t len;

	while (n->at[0] == '0' && n->at[1] != '_')
		n->at++;
	len = strspn(n->at, digits);
	*ret_digits = n->at;
	*ret_len = len;
	for (size_t i = 0; i < len; i++)
		value = value << 4 |
			(uint64_t)(strchr(digits, n->at[i]) - digits);
	n->at += len;
	if (!wf_rust_eat(n, '_'))
		wf_rust_fail(n);
	return value;
}

static void number(struct wf_rust_name *n, bool is_signed)
{
	const char *digits;
	size_t len;
	uint64_t value;

	if (is_signed && wf_rust_eat(n, 'n'))
		wf_rust_put(n, "-");
	value = digits_16(n, &digits, &len);
	if (len > 16) {
		wf_rust_put(n, "0x");
		wf_rust_put_bytes(n, digits, len);
	} else {
		wf_rust_put_formatted(n, "%" PRIu64, value);
	}
}

static void character(struct wf_rust_name *n)
{
	static const char codes[] = "\t\n\r\'\\", signs[] = "tnr'\\";
	const char *digits, *code;
	size_t len;
	uint64_t c = digits_16(n, &digits, &len);

	if (len > 6)
		wf_rust_fail(n);
	code = c != 0 && c < 0x80 ? strchr(codes, (int)c) : NULL;
	wf_rust_put(n, "'");
	if (code != NULL)
		wf_rust_put_formatted(n, "\\%c", signs[code - codes]);
	else if (c == 0)
		wf_rust_put(n, "\\0");
	else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		wf_rust_put_formatted(n, "\\u{%" PRIx64 "}", c);
	else
		wf_rust_put_character(n, (uint32_t)c);
	wf_rust_put(n, "'");
}

static void boolean(struct wf_rust_name *n)
{
	const char *digits;
	size_t len;
	uint64_t value = digits_16(n, &digits, &len);

	if (len > 1 || value > 1)
		wf_rust_fail(n);
	wf_rust_put(n, value == 1 ? "true" : "false");
}

static void constant(struct wf_rust_name *n)
{
	char tag = wf_rust_next(n);
	const char *behind;

	if (!wf_rust_enter(n))
		return;
	if (tag == 'p') {
		wf_rust_put(n, "_");
	} else if (tag == 'b') {
		boolean(n);
	} else if (tag == 'c') {
		character(n);
	} else if (tag == 'B') {
		behind = wf_rust_go_back(n);
		constant(n);
		n->at = behind;
	} else if (tag != '\0' && strchr("aslxnihtmyoj", tag) != NULL) {
		number(n, strchr("aslxni", tag) != NULL);
	} else {
		wf_rust_fail(n);
	}
	wf_rust_leave(n);
}

/* --- types --------------------------------------------------------------- */

static void argument(struct wf_rust_name *n)
{
	if (wf_rust_eat(n, 'L'))
		put_lifetime(n, wf_rust_number(n));
	else if (wf_rust_eat(n, 'K'))
		constant(n);
	else
		type(n);
}

/* Returns true if the path has arguments, and leaves their "<" open. */
static bool open_path(struct wf_rust_name *n)
{
	bool is_open = false;
	const char *behind;

	if (!wf_rust_enter(n))
		return false;
	if (wf_rust_eat(n, 'B')) {
		behind = wf_rust_go_back(n);
		is_open = open_path(n);
		n->at = behind;
	} else if (wf_rust_eat(n, 'I')) {
		path(n, false);
		wf_rust_put(n, "<");
		list(n, argument, ", ");
		is_open = true;
	} else {
		path(n, false);
	}
	wf_rust_leave(n);
	return is_open;
}

/* A trait, with those of its types that are given. */
static void trait(struct wf_rust_name *n)
{
	bool is_open = open_path(n);

	while (wf_rust_eat(n, 'p')) {
		struct wf_rust_identifier id = wf_rust_identifier(n);

		wf_rust_put(n, is_open ? ", " : "<");
		is_open = true;
		wf_rust_put_identifier(n, &id);
		wf_rust_put(n, " = ");
		type(n);
	}
	if (is_open)
		wf_rust_put(n, ">");
}

static void traits(struct wf_rust_name *n)
{
	uint32_t nr;
	uint64_t lifetime;

	wf_rust_put(n, "dyn ");
	nr = name_lifetimes(n);
	list(n, trait, " + ");
	n->nr_lifetimes -= nr;
	if (!wf_rust_eat(n, 'L'))
		wf_rust_fail(n);
	lifetime = wf_rust_number(n);
	if (lifetime != 0) {
		wf_rust_put(n, " + ");
		put_lifetime(n, lifetime);
	}
}

static void function(struct wf_rust_name *n)
{
	uint32_t nr = name_lifetimes(n);

	if (wf_rust_eat(n, 'U'))
		wf_rust_put(n, "unsafe ");
	if (wf_rust_eat(n, 'K')) {
		struct wf_rust_identifier abi = { .text = "C", .len = 1 };

		if (!wf_rust_eat(n, 'C'))
			abi = wf_rust_identifier(n);
		wf_rust_put(n, "extern \"");
		for (size_t i = 0; i < abi.len; i++)
			wf_rust_put_bytes(
				n, abi.text[i] == '_' ? "-" : &abi.text[i], 1);
		wf_rust_put(n, "\" ");
	}
	wf_rust_put(n, "fn(");
	list(n, type, ", ");
	wf_rust_put(n, ")");
	if (!wf_rust_eat(n, 'u')) {
		wf_rust_put(n, " -> ");
		type(n);
	}
	n->nr_lifetimes -= nr;
}

static void reference(struct wf_rust_name *n, bool is_mutable)
{
	uint64_t lifetime = wf_rust_eat(n, 'L') ? wf_rust_number(n) : 0;

	wf_rust_put(n, "&");
	if (lifetime != 0) {
		put_lifetime(n, lifetime);
		wf_rust_put(n, " ");
	}
	if (is_mutable)
		wf_rust_put(n, "mut ");
	type(n);
}

static void sequence(struct wf_rust_name *n, bool has_length)
{
	wf_rust_put(n, "[");
	type(n);
	if (has_length) {
		wf_rust_put(n, "; ");
		constant(n);
	}
	wf_rust_put(n, "]");
}

static const char *basic_type(char tag)
{
	static const char *const types['z' + 1] = {
		['a'] = "i8",	['b'] = "bool",	 ['c'] = "char",
		['d'] = "f64",	['e'] = "str",	 ['f'] = "f32",
		['h'] = "u8",	['i'] = "isize", ['j'] = "usize",
		['l'] = "i32",	['m'] = "u32",	 ['n'] = "i128",
		['o'] = "u128", ['p'] = "_",	 ['s'] = "i16",
		['t'] = "u16",	['u'] = "()",	 ['v'] = "...",
		['x'] = "i64",	['y'] = "u64",	 ['z'] = "!",
	};

	return tag >= 'a' && tag <= 'z' ? types[(int)tag] : NULL;
}

static void composed_type(struct wf_rust_name *n, char tag)
{
	const char *behind;

	switch (tag) {
	case 'R':
	case 'Q':
		reference(n, tag == 'Q');
		break;
	case 'P':
	case 'O':
		wf_rust_put(n, tag == 'P' ? "*const " : "*mut ");
		type(n);
		break;
	case 'A':
	case 'S':
		sequence(n, tag == 'A');
		break;
	case 'T':
		wf_rust_put(n, "(");
		wf_rust_put(n, list(n, type, ", ") == 1 ? ",)" : ")");
		break;
	case 'F':
		function(n);
		break;
	case 'D':
		traits(n);
		break;
	case 'B':
		behind = wf_rust_go_back(n);
		type(n);
		n->at = behind;
		break;
	default:
		n->at--;
		path(n, false);
	}
}

static void type(struct wf_rust_name *n)
{
	char tag = wf_rust_next(n);
	const char *basic = basic_type(tag);

	if (!wf_rust_enter(n))
		return;
	if (basic != NULL)
		wf_rust_put(n, basic);
	else
		composed_type(n, tag);
	wf_rust_leave(n);
}

/* --- paths --------------------------------------------------------------- */

/* Where an impl stands: the type and the trait say it better. */
static void skip_path(struct wf_rust_name *n)
{
	bool was_silent = n->is_silent;

	n->is_silent = true;
	wf_rust_number_if(n, 's');
	path(n, false);
	n->is_silent = was_silent;
}

/* The type of an impl, and its trait. */
static void impl(struct wf_rust_name *n, bool has_trait)
{
	wf_rust_put(n, "<");
	type(n);
	if (has_trait) {
		wf_rust_put(n, " as ");
		path(n, false);
	}
	wf_rust_put(n, ">");
}

/* An item of a path. Closures and the like have a number, and often no name. */
static void item(struct wf_rust_name *n, bool is_value)
{
	char space = wf_rust_next(n);
	struct wf_rust_identifier id;
	uint64_t number;

	if (!isalpha((unsigned char)space))
		wf_rust_fail(n);
	path(n, is_value);
	number = wf_rust_number_if(n, 's');
	id = wf_rust_identifier(n);
	if (id.len > 0 || isupper((unsigned char)space))
		wf_rust_put(n, "::");
	if (isupper((unsigned char)space)) {
		wf_rust_put(n, "{");
		if (space == 'C')
			wf_rust_put(n, "closure");
		else if (space == 'S')
			wf_rust_put(n, "shim");
		else
			wf_rust_put_bytes(n, &space, 1);
		if (id.len > 0)
			wf_rust_put(n, ":");
	}
	wf_rust_put_identifier(n, &id);
	if (isupper((unsigned char)space))
		wf_rust_put_formatted(n, "#%" PRIu64 "}", number);
}

static void crate(struct wf_rust_name *n)
{
	struct wf_rust_identifier id;

	wf_rust_number_if(n, 's');
	id = wf_rust_identifier(n);
	wf_rust_put_identifier(n, &id);
}

/* A value's path has "::" before "<", as in vec::<u8>. */
static void path(struct wf_rust_name *n, bool is_value)
{
	char tag = wf_rust_next(n);
	const char *behind;

	if (!wf_rust_enter(n))
		return;
	switch (tag) {
	case 'C':
		crate(n);
		break;
	case 'N':
		item(n, is_value);
		break;
	case 'M':
	case 'X':
		skip_path(n);
		impl(n, tag == 'X');
		break;
	case 'Y':
		impl(n, true);
		break;
	case 'I':
		path(n, is_value);
		wf_rust_put(n, is_value ? "::<" : "<");
		list(n, argument, ", ");
		wf_rust_put(n, ">");
		break;
	case 'B':
		behind = wf_rust_go_back(n);
		path(n, is_value);
		n->at = behind;
		break;
	default:
		wf_rust_fail(n);
	}
	wf_rust_leave(n);
}

char *wf_see_rust_v0(const char *name)
{
	struct wf_rust_name n = { .begin = name + 2, .at = name + 2 };

	if (strncmp(name, "_R", 2) != 0)
		return NULL;
	path(&n, true);
	if (isupper((unsigned char)*n.at)) /* the crate that has the code */
		skip_path(&n);
	if (n.is_wrong || (*n.at != '\0' && *n.at != '.' && *n.at != '$'))
		return NULL;
	return strdup(n.text);
}
