/* SPDX-License-Identifier: MIT */
/*
 * Where files are. In two ways, with libc (place.c) and without (bare.c).
 */
#ifndef WEFT_CLI_PLACE_H
#define WEFT_CLI_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* The command's own file; false if that cannot be told. */
bool wf_place_own(char ret_path[PATH_MAX]);
/* An absolute path without links; false if there is no such file. */
bool wf_place_real(const char *path, char ret_path[PATH_MAX]);

#endif
