/* SPDX-License-Identifier: MIT */
/*
 * libsupc++ of GCC reads the names of C++. The older names of Rust have the
 * same form, so it is asked last.
 */
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

#include "demangler.h"
#include "rust_name.h"

/* "symbol.lto_priv.0" and "symbol@@VERSION" without what was appended. */
static size_t length_of(const char *name)
{
	static const char *const endings[] = { "@",	      ".lto_priv.",
					       ".cold",	      ".part.",
					       ".constprop.", ".isra.",
					       ".llvm." };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *end = strstr(name, endings[i]);

		if (end != NULL && end != name && (size_t)(end - name) < len)
			len = (size_t)(end - name);
	}
	return len;
}

char *wf_see_demangle(const char *name)
{
	char *copy = strndup(name, length_of(name)), *plain = NULL, *end;

	if (copy != NULL)
		plain = wf_see_rust_name(copy);
	if (copy != NULL && plain == NULL && strncmp(copy, "_Z", 2) == 0)
		plain = wf_see_demangler(copy);
	if (plain == NULL)
		return copy;
	free(copy);
	/* "sell(int) const [clone .isra.0]" */
	end = strstr(plain, " [clone ");
	if (end != NULL)
		*end = '\0';
	return plain;
}
