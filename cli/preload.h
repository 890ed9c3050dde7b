/* SPDX-License-Identifier: MIT */
/* Puts weft into the environment of a program that is about to run. */
#ifndef WEFT_CLI_PRELOAD_H
#define WEFT_CLI_PRELOAD_H

#include <limits.h>

/*
 * The absolute path of libweft.so: beside the command (a build folder), in
 * the library folder beside the command's (an installation that was moved),
 * or where it was configured to be installed. Returns 0 or an exit status.
 */
int wf_preload_find_library(char ret_path[PATH_MAX]);

/*
 * Sets LD_PRELOAD to the sanitizer (if not ""), the user's own entries and
 * the library, and the tunable that keeps libc from registering rseq, beside
 * the user's own tunables. Returns 0 or an exit status.
 */
int wf_preload_set(const char *library, const char *sanitizer);

#endif
