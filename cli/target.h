/* SPDX-License-Identifier: MIT */
/*
 * Decides whether weft can run a file, and what the file needs.
 *
 *     struct wf_target target;
 *     int status = wf_target_inspect(path, &target);
 *
 * For a script, this inspects the interpreter. If a file can be executed but
 * not read, or has an unknown format, the kernel decides.
 */
#ifndef WEFT_CLI_TARGET_H
#define WEFT_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>

struct wf_target {
	/*
	 * The file that was inspected: the interpreter of a script, otherwise
	 * the path that was given.
	 */
	char binary[PATH_MAX];
	char loader[PATH_MAX]; /* its dynamic loader; "" if unknown */
	bool was_read;	       /* false: its contents are unknown */
	bool is_weft;	       /* the command itself */
	/* The library that has to be preloaded before weft, or "". */
	char sanitizer[NAME_MAX + 1];
};

/* Returns 0 or an exit status, see cli.h. */
int wf_target_inspect(const char *path, struct wf_target *ret_target);

#endif
