/* SPDX-License-Identifier: MIT */
/*
 * Finds where files lie. place.c does it with libc, bare.c without.
 *
 *     if (wf_place_own(path))
 *             printf("%s\n", path);
 */
#ifndef WEFT_CLI_PLACE_H
#define WEFT_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* Stores the path of the command's file. False if it is unknown. */
bool wf_place_own(char ret_path[PATH_MAX]);
/*
 * Stores an absolute path without symbolic links. False if there is no such
 * file.
 */
bool wf_place_real(const char *path, char ret_path[PATH_MAX]);

#endif
