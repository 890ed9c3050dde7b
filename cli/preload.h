/* SPDX-License-Identifier: MIT */
/*
 * Puts weft into the environment of the program that is about to run.
 *
 *     status = wf_preload_find_library(library);
 *     if (status == 0)
 *             status = wf_preload_set(library, "", false);
 */
#ifndef WEFT_CLI_PRELOAD_H
#define WEFT_CLI_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

/*
 * Finds the absolute path of libweft.so. In a build folder it lies beside the
 * command. In a moved installation it lies in the library folder beside the
 * command's folder. Otherwise it lies in the folder that the build has
 * configured. Returns 0 or an exit status.
 */
int wf_preload_find_library(char ret_path[PATH_MAX]);

/*
 * Sets LD_PRELOAD to the sanitizer (unless ""), the user's own entries, the
 * library and, with_mpi, the library of --mpi beside it. Adds to the user's
 * tunables the one that keeps libc from registering rseq. Returns 0 or an exit
 * status.
 */
int wf_preload_set(const char *library, const char *sanitizer, bool with_mpi);

#endif
