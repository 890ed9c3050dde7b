/* SPDX-License-Identifier: MIT */
/*
 * Finds the interpreter of a script from its first line. If that is env(1),
 * finds the program that env will execute.
 *
 *     struct wf_script script;
 *
 *     wf_script_read(bytes, size, &script);
 *     if (script.interpreter[0] == '\0')
 *             it is no script;
 */
#ifndef WEFT_CLI_SCRIPT_H
#define WEFT_CLI_SCRIPT_H

#include <limits.h>
#include <stddef.h>

struct wf_script {
	/*
	 * The interpreter's path. After an error, the name that env searches
	 * for. "" if the file is no script.
	 */
	char interpreter[PATH_MAX];
	int error; /* 0, or the error of env's search */
};

/* bytes: the file, or its beginning. */
void wf_script_read(const char *bytes, size_t size,
		    struct wf_script *ret_script);

#endif
