/* SPDX-License-Identifier: MIT */
/*
 * Finds a program as execvp(3) does, and checks that it can be executed.
 *
 *     status = wf_path_find(argv[0], path);
 *     if (status == 0)
 *             status = wf_path_check(argv[0], path, &st);
 */
#ifndef WEFT_CLI_PATH_H
#define WEFT_CLI_PATH_H

#include <limits.h>
#include <sys/stat.h>

/*
 * Writes the path of `program` to ret_path: the name itself if it has a
 * slash, else the first executable file of that name in PATH. Returns 0 or an
 * exit status, see cli.h.
 */
int wf_path_find(const char *program, char ret_path[PATH_MAX]);

/*
 * Checks that the file can be executed; messages call it `label`. Returns 0 and
 * stores the result of stat(2), or returns an exit status.
 */
int wf_path_check(const char *label, const char *path, struct stat *ret_st);

/* Prints the meaning of err, a positive error number, for `label`. Returns the
 * exit status, 0 if err is 0. */
int wf_path_explain(const char *label, int err);

/*
 * Finds the program as wf_path_find does, without a message. Returns 0 or a
 * positive error number.
 */
int wf_path_search(const char *program, char ret_path[PATH_MAX]);

/* Returns the part of path after its last slash, or path without a slash. */
const char *wf_path_name(const char *path);

#endif
