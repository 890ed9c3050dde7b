/* SPDX-License-Identifier: MIT */
/*
 * Builds the environment of the program.
 *
 *     if (wf_environment_begin(envp))
 *             wf_environment_set("LD_PRELOAD", "libweft.so");
 *     execve(path, argv, wf_environment_all());
 *
 * The command's own environment does not change.
 */
#ifndef WEFT_CLI_ENVIRONMENT_H
#define WEFT_CLI_ENVIRONMENT_H

#include <stdbool.h>

/* Copies the variables of envp. False if there is no memory. */
bool wf_environment_begin(char **envp);
/* The first value of the name, as getenv(3) finds it, or NULL. */
const char *wf_environment_get(const char *name);
/*
 * Sets the variable, in the place of its first value or at the end. Removes its
 * other values. False if there is no memory.
 */
bool wf_environment_set(const char *name, const char *value);
char **wf_environment_all(void);

#endif
