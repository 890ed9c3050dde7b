/* SPDX-License-Identifier: MIT */
/*
 * libsupc++ of GCC reads the names of C++, and those of Rust up to 2025, which
 * have the same form with a hash at the end.
 */
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

#include "demangler.h"

/* "symbol.lto_priv.0" and "symbol@@VERSION" without what was appended. */
static size_t length_of(const char *name)
{
	static const char *const endings[] = {
		"@", ".lto_priv.", ".cold", ".part.", ".constprop.", ".isra."
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *end = strstr(name, endings[i]);

		if (end != NULL && end != name && (size_t)(end - name) < len)
			len = (size_t)(end - name);
	}
	return len;
}

/* Rust's hash: "::h" and 16 digits. */
static void cut_hash(char *name)
{
	size_t n = strlen(name);

	if (n > 19 && strncmp(name + n - 19, "::h", 3) == 0 &&
	    strspn(name + n - 16, "0123456789abcdef") == 16)
		name[n - 19] = '\0';
}

/* Signs that Rust writes as "$LT$". Shortens the name in its place. */
static void replace_signs(char *name)
{
	static const struct {
		const char *code, *sign;
	} signs[] = {
		{ "$LT$", "<" },  { "$GT$", ">" },  { "$RF$", "&" },
		{ "$LP$", "(" },  { "$RP$", ")" },  { "$BP$", "*" },
		{ "$C$", "," },	  { "$u20$", " " }, { "$u7b$", "{" },
		{ "$u7d$", "}" }, { "$u27$", "'" }, { "$u5b$", "[" },
		{ "$u5d$", "]" }, { "$u3b$", ";" }, { "$u2b$", "+" },
		{ "..", "::" },
	};
	char *to = name;

	for (const char *from = name; *from != '\0';) {
		size_t i = 0, nr = sizeof(signs) / sizeof(signs[0]);

		while (i < nr &&
		       strncmp(from, signs[i].code, strlen(signs[i].code)) != 0)
			i++;
		if (i == nr) {
			*to++ = *from++;
			continue;
		}
		from += strlen(signs[i].code);
		memcpy(to, signs[i].sign, strlen(signs[i].sign));
		to += strlen(signs[i].sign);
	}
	*to = '\0';
}

char *wf_see_demangle(const char *name)
{
	char *copy = strndup(name, length_of(name)), *plain = NULL, *end;

	if (copy != NULL && strncmp(copy, "_Z", 2) == 0)
		plain = wf_see_demangler(copy);
	if (plain == NULL)
		return copy;
	free(copy);
	/* "sell(int) const [clone .isra.0]" */
	end = strstr(plain, " [clone ");
	if (end != NULL)
		*end = '\0';
	if (strstr(name, "17h") != NULL) {
		cut_hash(plain);
		if (strstr(plain, "$") != NULL)
			replace_signs(plain);
	}
	return plain;
}
