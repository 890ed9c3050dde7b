/* SPDX-License-Identifier: MIT */
/*
 * The older names of Rust have the form of C++'s: _ZN, then each part with its
 * length, then E. The last part is a hash. Signs that assemblers refuse are
 * written as "$LT$" or, by their number, as "$u7b$"; ".." stands for "::".
 */
#include "rust_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { HASH = 17, MOST_BYTES = 4096 };

/* The number of a sign that is written as "u7b", or 0. */
static uint32_t number_of(const char *code, size_t len)
{
	char digits[8] = "", *end;
	unsigned long c;

	if (len < 2 || len > sizeof(digits) || code[0] != 'u')
		return 0;
	memcpy(digits, code + 1, len - 1);
	if (strspn(digits, "0123456789abcdef") != len - 1)
		return 0;
	c = strtoul(digits, &end, 16);
	/* A terminal would obey control characters. */
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : (uint32_t)c;
}

static uint32_t sign_of(const char *code, size_t len)
{
	static const struct {
		const char *code;
		char sign;
	} signs[] = {
		{ "LT", '<' }, { "GT", '>' }, { "RF", '&' }, { "LP", '(' },
		{ "RP", ')' }, { "BP", '*' }, { "SP", '@' }, { "C", ',' },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (strlen(signs[i].code) == len &&
		    strncmp(signs[i].code, code, len) == 0)
			return (uint32_t)signs[i].sign;
	return number_of(code, len);
}

/* Returns the end of what it wrote: at most as many bytes as the part has. */
static char *put_part(char *to, const char *part, size_t len)
{
	const char *end = part + len;

	if (len >= 2 && part[0] == '_' && part[1] == '$')
		part++;
	while (part < end) {
		const char *close =
			part[0] != '$' ?
				NULL :
				memchr(part + 1, '$', (size_t)(end - part) - 1);
		uint32_t sign = 0;
		size_t n = 0;

		if (close != NULL)
			sign = sign_of(part + 1, (size_t)(close - part) - 1);
		if (sign != 0)
			n = wf_see_utf8_put(sign, to);
		if (n != 0) {
			to += n;
			part = close + 1;
		} else if (end - part >= 2 && part[0] == '.' &&
			   part[1] == '.') {
			memcpy(to, "::", 2);
			to += 2;
			part += 2;
		} else {
			*to++ = *part++;
		}
	}
	return to;
}

static bool is_hash(const char *part, size_t len)
{
	return len == HASH && part[0] == 'h' &&
	       strspn(part + 1, "0123456789abcdef") >= HASH - 1;
}

static bool has_only_letters(const char *name)
{
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) &&
		    strchr("_$.", *name) == NULL)
			return false;
	return true;
}

/* to has room for twice the name: "1a" becomes "::a". */
static bool put_parts(char *to, const char *name)
{
	const char *begin = to, *end = name + strlen(name);

	while (*name >= '1' && *name <= '9') {
		char *part;
		unsigned long len = strtoul(name, &part, 10);

		if (len >= (size_t)(end - part))
			return false;
		name = part + len;
		if (*name == 'E' && is_hash(part, len)) {
			*to = '\0';
			return to > begin &&
			       (name[1] == '\0' || name[1] == '.');
		}
		if (to > begin) {
			memcpy(to, "::", 2);
			to += 2;
		}
		to = put_part(to, part, len);
	}
	return false;
}

char *wf_see_rust_name(const char *name)
{
	size_t len = strnlen(name, MOST_BYTES);
	char *plain;

	if (len == MOST_BYTES || !has_only_letters(name))
		return NULL;
	if (strncmp(name, "_R", 2) == 0)
		return wf_see_rust_v0(name);
	if (strncmp(name, "_ZN", 3) != 0)
		return NULL;
	plain = malloc(2 * len);
	if (plain != NULL && put_parts(plain, name + 3))
		return plain;
	free(plain);
	return NULL;
}
