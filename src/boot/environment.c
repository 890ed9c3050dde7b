/* SPDX-License-Identifier: MIT */
/*
 * Before ld.so reads the variable it copies it, and ends each tunable in the
 * original, which stays where the kernel has put it.
 */
#include "boot/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static char *end_of(char *string)
{
	return string + strlen(string) + 1;
}

/* ld.so has ended the tunables in it, of which there may be several. */
static bool is_copy(const char *copy, const char *original)
{
	while (*copy == *original || (*copy == ':' && *original == '\0')) {
		if (*copy++ == '\0')
			return true;
		original++;
	}
	return false;
}

/* Behind the last string is the program's path, so there is always another. */
void wf_environment_restore(char **argv, char **envp)
{
	static const char name[] = "GLIBC_TUNABLES=";
	char *next = NULL;

	for (; *argv != NULL; argv++)
		next = end_of(*argv);
	for (; *envp != NULL; envp++) {
		if (next != NULL && *envp != next &&
		    strncmp(*envp, name, sizeof(name) - 1) == 0 &&
		    is_copy(*envp, next)) {
			strcpy(next, *envp);
			*envp = next;
		}
		next = end_of(*envp);
	}
}
