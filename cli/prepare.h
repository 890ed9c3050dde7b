/* SPDX-License-Identifier: MIT */
/*
 * What `weft run` does before it becomes the program.
 *
 *     struct wf_prepared p;
 *
 *     if (wf_prepare(argv, &p) == 0)
 *             execve(p.path, p.argv, wf_environment_all());
 */
#ifndef WEFT_CLI_PREPARE_H
#define WEFT_CLI_PREPARE_H

#include <limits.h>

/* Not an exit status: help was asked for. */
#define WF_PREPARE_HELP (-1)

struct wf_prepared {
	char path[PATH_MAX];
	char **argv; /* the program's */
};

/* argv[0] is "run". Returns 0, an exit status, see cli.h, or the above. */
int wf_prepare(char **argv, struct wf_prepared *ret_prepared);

#endif
