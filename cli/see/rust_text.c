/* SPDX-License-Identifier: MIT */
/*
 * Each function may be called after a fault, and then does nothing.
 *
 * RUST_TEXT-1. After the first fault is_wrong stays set: nothing is written any
 *              more, and wf_rust_next returns NUL.
 * RUST_TEXT-2. at never passes the NUL at the name's end.
 * RUST_TEXT-3. Names come from files of others, and a few references back make
 *              a text that is exponentially long. So the text, the depth of the
 *              recursion and the number of parts have limits.
 */
#include "rust_text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "punycode.h"
#include "utf8.h"

enum {
	/* rustc's own names have a depth of 93, and 2,079 parts. */
	MOST_DEPTH = 400,
	MOST_PARTS = 20000,
	MOST_CHARACTERS = 128 /* of an identifier beyond ASCII */
};

#define DIGITS_62                    \
	"0123456789"                 \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

void wf_rust_fail(struct wf_rust_name *n)
{
	n->is_wrong = true;
}

char wf_rust_next(struct wf_rust_name *n)
{
	if (n->is_wrong || *n->at == '\0') {
		wf_rust_fail(n);
		return '\0';
	}
	return *n->at++; /* RUST_TEXT-2 */
}

bool wf_rust_eat(struct wf_rust_name *n, char c)
{
	if (n->is_wrong || *n->at != c)
		return false;
	n->at++;
	return true;
}

void wf_rust_put_bytes(struct wf_rust_name *n, const char *text, size_t len)
{
	if (n->is_wrong || n->is_silent)
		return;
	if (len >= sizeof(n->text) - n->len) {
		wf_rust_fail(n); /* RUST_TEXT-3 */
		return;
	}
	memcpy(n->text + n->len, text, len);
	n->len += len;
}

void wf_rust_put(struct wf_rust_name *n, const char *text)
{
	wf_rust_put_bytes(n, text, strlen(text));
}

void wf_rust_put_formatted(struct wf_rust_name *n, const char *format, ...)
{
	char text[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	wf_rust_put(n, text);
}

void wf_rust_put_character(struct wf_rust_name *n, uint32_t c)
{
	char text[WF_SEE_UTF8_MOST];
	size_t len = wf_see_utf8_put(c, text);

	/* A terminal would obey control characters. */
	if (len == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0))
		wf_rust_fail(n);
	wf_rust_put_bytes(n, text, len);
}

bool wf_rust_enter(struct wf_rust_name *n)
{
	if (++n->depth > MOST_DEPTH || ++n->nr_parts > MOST_PARTS)
		wf_rust_fail(n); /* RUST_TEXT-3 */
	return !n->is_wrong;
}

void wf_rust_leave(struct wf_rust_name *n)
{
	n->depth--;
}

/* "_" is 0, "0_" 1, "Z_" 62. */
uint64_t wf_rust_number(struct wf_rust_name *n)
{
	static const char digits[] = DIGITS_62;
	uint64_t number = 0;

	if (wf_rust_eat(n, '_'))
		return 0;
	while (!wf_rust_eat(n, '_')) {
		char c = wf_rust_next(n);
		const char *digit = c != '\0' ? strchr(digits, c) : NULL;

		if (digit == NULL || number > UINT64_MAX / 62 - 1) {
			wf_rust_fail(n);
			return 0;
		}
		number = number * 62 + (uint64_t)(digit - digits);
	}
	return number + 1;
}

/* A number behind a tag, counted from 1. 0: the tag is not there. */
uint64_t wf_rust_number_if(struct wf_rust_name *n, char tag)
{
	return wf_rust_eat(n, tag) ? wf_rust_number(n) + 1 : 0;
}

/* Goes to the place that a reference names. Returns the place behind it. */
const char *wf_rust_go_back(struct wf_rust_name *n)
{
	const char *reference = n->at - 1;
	uint64_t at = wf_rust_number(n);
	const char *behind = n->at;

	if (at >= (uint64_t)(reference - n->begin))
		wf_rust_fail(n);
	else
		n->at = n->begin + at;
	return behind;
}

struct wf_rust_identifier wf_rust_identifier(struct wf_rust_name *n)
{
	struct wf_rust_identifier id = { .is_punycode = wf_rust_eat(n, 'u') };

	if (!isdigit((unsigned char)*n->at))
		wf_rust_fail(n);
	if (!wf_rust_eat(n, '0'))
		while (!n->is_wrong && isdigit((unsigned char)*n->at) &&
		       id.len < WF_RUST_TEXT)
			id.len = id.len * 10 + (size_t)(wf_rust_next(n) - '0');
	wf_rust_eat(n, '_');
	if (strspn(n->at, DIGITS_62 "_") < id.len) {
		wf_rust_fail(n);
		id.len = 0;
	}
	id.text = n->at;
	n->at += id.len;
	return id;
}

void wf_rust_put_identifier(struct wf_rust_name *n,
			    const struct wf_rust_identifier *id)
{
	const char *code = id->text;
	uint32_t word[MOST_CHARACTERS];
	size_t basic_len = 0, nr;

	if (!id->is_punycode) {
		wf_rust_put_bytes(n, id->text, id->len);
		return;
	}
	for (size_t i = 0; i < id->len; i++)
		if (id->text[i] == '_')
			code = id->text + (basic_len = i) + 1;
	nr = wf_see_punycode(id->text, basic_len, code,
			     (size_t)(id->text + id->len - code), word,
			     MOST_CHARACTERS);
	if (nr == 0)
		wf_rust_fail(n);
	for (size_t i = 0; i < nr; i++)
		wf_rust_put_character(n, word[i]);
}
