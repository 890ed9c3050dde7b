/* SPDX-License-Identifier: MIT */
/*
 * Who runs a script: what its first line names, and if that is env(1), what
 * env is going to execute.
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
	char interpreter[PATH_MAX]; /* a path; after an error, the name that
				     * env looks for; "" if it is no script */
	int error;		    /* 0, or errno's of env's search for it */
};

/* bytes: the file's, or as many of them as there are at hand. */
void wf_script_read(const char *bytes, size_t size,
		    struct wf_script *ret_script);

#endif
