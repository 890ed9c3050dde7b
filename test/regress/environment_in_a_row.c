/* SPDX-License-Identifier: MIT */
/*
 * The strings of the environment lie one behind the other, as programs that
 * change their title expect: ld.so puts a copy of GLIBC_TUNABLES there.
 */
#include <stdio.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
	const char *next = argv[argc - 1] + strlen(argv[argc - 1]) + 1;

	for (char **p = environ; *p != NULL; p++) {
		if (*p != next) {
			printf("elsewhere: %s\n", *p);
			return 1;
		}
		next = *p + strlen(*p) + 1;
	}
	puts("one behind the other");
	return 0;
}
