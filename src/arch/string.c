/* SPDX-License-Identifier: MIT */
/*
 * The functions of <string.h> that weft calls: hidden definitions under libc's
 * names, to which the compiler's calls bind.
 *
 * Sanitizers and other preloaded libraries replace libc's functions of these
 * names. Their code expects a thread that they know. It does not work on a
 * carrier's own stack, in a signal handler, or before those libraries are
 * initialised.
 *
 * The barriers keep compilers from recognising a loop and replacing it by a
 * call to the function itself.
 */
#include <stddef.h>
#include <string.h>

#include "arch/arch.h"
#include "base/compiler.h"

/* glibc 2.43 has macros of these names, which keep the argument's const. */
#undef strrchr
#undef strstr

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	wf_cpu_copy(to, from, bytes);
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	char *d = to;
	const char *f = from;

	if (d <= f || d >= f + bytes)
		return memcpy(to, from, bytes);
	while (bytes > 0) {
		bytes--;
		d[bytes] = f[bytes];
		wf_compiler_barrier();
	}
	return to;
}

void *memset(void *to, int byte, size_t bytes)
{
	wf_cpu_fill(to, byte, bytes);
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *p = a, *q = b;

	for (; bytes > 0; bytes--, p++, q++) {
		if (*p != *q)
			return *p - *q;
		wf_compiler_barrier();
	}
	return 0;
}

size_t strlen(const char *s)
{
	size_t len = 0;

	for (; s[len] != '\0'; len++)
		wf_compiler_barrier();
	return len;
}

size_t strnlen(const char *s, size_t max)
{
	size_t len = 0;

	for (; len < max && s[len] != '\0'; len++)
		wf_compiler_barrier();
	return len;
}

int strncmp(const char *a, const char *b, size_t max)
{
	for (; max > 0; max--, a++, b++) {
		if (*a != *b || *a == '\0')
			return (unsigned char)*a - (unsigned char)*b;
		wf_compiler_barrier();
	}
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, (size_t)-1);
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	for (;; s++) {
		if (*s == (char)c)
			last = s;
		if (*s == '\0')
			return (char *)last;
		wf_compiler_barrier();
	}
}

char *strstr(const char *s, const char *part)
{
	size_t len = strlen(part);

	for (; *s != '\0' || len == 0; s++) {
		if (strncmp(s, part, len) == 0)
			return (char *)s;
	}
	return NULL;
}
