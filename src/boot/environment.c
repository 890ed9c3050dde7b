/* SPDX-License-Identifier: MIT */
/*
 * Puts GLIBC_TUNABLES back to where the kernel has passed it. ld.so copies the
 * string before it reads it, and puts the copy into envp. In the original,
 * which stays in its place, ld.so ends each tunable with a 0 byte. The function
 * finds the original by its place behind the string before, copies the text
 * back, and lets envp point to it.
 */
#include "boot/environment.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static char *end_of(char *string)
{
	return string + strlen(string) + 1;
}

/*
 * True if `copy` is the copy that ld.so has made of `original`. In the original
 * a 0 byte follows each tunable; there may be several.
 */
static bool is_copy(const char *copy, const char *original)
{
	while (*copy == *original || (*copy == ':' && *original == '\0')) {
		if (*copy++ == '\0')
			return true;
		original++;
	}
	return false;
}

/* The program's path follows the last string, so `next` is always a string. */
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
