/* SPDX-License-Identifier: MIT */
/*
 * Reads the links in /proc and resolves paths with libc's realpath. bare.c has
 * functions of the same names that need no libc.
 */
#include "place.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where /proc is not mounted, stores the path that was given to execve. */
bool wf_place_own(char ret_path[PATH_MAX])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	if (len < 0)
		return given != NULL && wf_place_real(given, ret_path);
	ret_path[len] = '\0';
	return true;
}

bool wf_place_real(const char *path, char ret_path[PATH_MAX])
{
	return realpath(path, ret_path) != NULL;
}
