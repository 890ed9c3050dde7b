/* SPDX-License-Identifier: MIT */
/*
 * Functions of <string.h> for bare.c, in addition to those of
 * src/arch/string.c. The barriers keep compilers from replacing a loop by a
 * call to the function itself.
 */
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

/* Macros in glibc 2.43, which keep the argument's const. */
#undef memchr
#undef memrchr
#undef strchr
#undef strpbrk

void *memchr(const void *from, int byte, size_t bytes)
{
	const char *p = from;

	for (; bytes > 0; bytes--, p++) {
		if (*p == (char)byte)
			return (void *)p;
		wf_compiler_barrier();
	}
	return NULL;
}

void *memrchr(const void *from, int byte, size_t bytes)
{
	const char *p = from;

	while (bytes > 0) {
		if (p[--bytes] == (char)byte)
			return (void *)(p + bytes);
		wf_compiler_barrier();
	}
	return NULL;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++) {
		if (*s == '\0')
			return NULL;
		wf_compiler_barrier();
	}
	return (char *)s;
}

/* The number of leading characters that are in the set, or that are not. */
static size_t span(const char *s, const char *set, bool is_in)
{
	size_t len = 0;

	while (s[len] != '\0' && (strchr(set, s[len]) != NULL) == is_in)
		len++;
	return len;
}

size_t strspn(const char *s, const char *accept)
{
	return span(s, accept, true);
}

size_t strcspn(const char *s, const char *reject)
{
	return span(s, reject, false);
}

char *strpbrk(const char *s, const char *accept)
{
	s += strcspn(s, accept);
	return *s != '\0' ? (char *)s : NULL;
}

char *strcpy(char *restrict to, const char *restrict from)
{
	return memcpy(to, from, strlen(from) + 1);
}
