/* Finds a program as execvp(3) does. */
#ifndef WEFT_CLI_PATH_H
#define WEFT_CLI_PATH_H

#include <limits.h>

/*
 * Writes the path of `program` to ret_path: the name itself if it has a
 * slash, else the first executable file of that name in PATH. Returns 0 or an
 * exit status, see cli.h.
 */
int wf_path_find(const char *program, char ret_path[PATH_MAX]);

/* The same without a message; returns 0 or the error, positive. */
int wf_path_search(const char *program, char ret_path[PATH_MAX]);

#endif
