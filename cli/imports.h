/* SPDX-License-Identifier: MIT */
/*
 * The functions that a file takes from its libraries.
 *
 *     wf_imports_visit("/usr/bin/server", note, NULL);
 */
#ifndef WEFT_CLI_IMPORTS_H
#define WEFT_CLI_IMPORTS_H

#include <stdbool.h>

/* Calls visit for each name. Returns false if the file cannot be read. */
bool wf_imports_visit(const char *path,
		      void (*visit)(const char *name, void *arg), void *arg);

#endif
