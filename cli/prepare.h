/* SPDX-License-Identifier: MIT */
/*
 * Prepares `weft run`: reads the options, finds and checks the program, and
 * builds its environment.
 *
 *     struct wf_prepared p;
 *
 *     if (wf_prepare(argv, &p) == 0)
 *             execve(p.path, p.argv, wf_environment_all());
 */
#ifndef WEFT_CLI_PREPARE_H
#define WEFT_CLI_PREPARE_H

#include <limits.h>

/* A result that is no exit status: the user has asked for help. */
#define WF_PREPARE_HELP (-1)

struct wf_prepared {
	char path[PATH_MAX];
	char **argv; /* the program's */
};

/*
 * argv[0] is "run". Returns 0, an exit status (see cli.h), or WF_PREPARE_HELP.
 */
int wf_prepare(char **argv, struct wf_prepared *ret_prepared);

#endif
