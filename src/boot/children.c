/*
 * --no-children: what the program executes runs without weft. The variable is
 * edited in place, before anybody has copied the environment.
 */
#include <stdbool.h>
#include <string.h>

#include "boot/boot.h"

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

static bool is_weft(const char *entry, size_t len)
{
	static const char name[] = "libweft.so";
	size_t name_len = sizeof(name) - 1;

	return len >= name_len &&
	       strncmp(entry + len - name_len, name, name_len) == 0;
}

/* Takes weft's entries out of a list like LD_PRELOAD's. */
static void filter(char *list)
{
	char *to = list;

	for (char *p = list; *p != '\0';) {
		size_t len = 0;

		while (p[len] != '\0' && !is_separator(p[len]))
			len++;
		if (len > 0 && !is_weft(p, len)) {
			if (to != list)
				*to++ = ':';
			memmove(to, p, len);
			to += len;
		}
		p += len + (p[len] != '\0');
	}
	*to = '\0';
}

void wf_boot_spare_children(char **envp)
{
	static const char prefix[] = "LD_PRELOAD=";
	size_t prefix_len = sizeof(prefix) - 1;
	char **to = envp;

	for (char **p = envp; *p != NULL; p++) {
		if (strncmp(*p, prefix, prefix_len) == 0) {
			filter(*p + prefix_len);
			if ((*p)[prefix_len] == '\0')
				continue;
		}
		*to++ = *p;
	}
	*to = NULL;
}
