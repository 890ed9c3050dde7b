/* SPDX-License-Identifier: MIT */
/* Finds a program as execvp(3) does. */
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
 * Whether the file can be executed; label names it in the message. Returns 0
 * and what stat(2) tells of it, or an exit status.
 */
int wf_path_check(const char *label, const char *path, struct stat *ret_st);

/* Says what the error, positive, means for what label names; returns the exit
 * status, which is 0 for none. */
int wf_path_explain(const char *label, int err);

/* As wf_path_find without a message; returns 0 or the error, positive. */
int wf_path_search(const char *program, char ret_path[PATH_MAX]);

#endif
