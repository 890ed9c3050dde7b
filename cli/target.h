/* SPDX-License-Identifier: MIT */
/*
 * Whether weft can run a file, and what it needs.
 *
 *     struct wf_target target;
 *     int status = wf_target_inspect(path, &target);
 *
 * Looks at the file itself, for a script at its interpreter. What cannot be
 * read (executable and not readable) or is of an unknown format is left for
 * the kernel to judge.
 */
#ifndef WEFT_CLI_TARGET_H
#define WEFT_CLI_TARGET_H

#include <limits.h>
#include <stdbool.h>

struct wf_target {
	char binary[PATH_MAX]; /* what was judged: an interpreter's path for
				 * a script, else the path that was given */
	char loader[PATH_MAX]; /* its dynamic loader; "" if not looked at */
	bool was_read;	       /* false: it may be anything */
	bool is_weft;	       /* the command itself */
	char sanitizer[NAME_MAX + 1]; /* library that has to be preloaded
				       * ahead of weft, or "" */
};

/* Returns 0 or an exit status, see cli.h. */
int wf_target_inspect(const char *path, struct wf_target *ret_target);

#endif
