/* SPDX-License-Identifier: MIT */
/*
 * The variables that the program will get.
 *
 *     if (wf_environment_begin(envp))
 *             wf_environment_set("LD_PRELOAD", "libweft.so");
 *     execve(path, argv, wf_environment_all());
 *
 * The command's own variables stay as they are.
 */
#ifndef WEFT_CLI_ENVIRONMENT_H
#define WEFT_CLI_ENVIRONMENT_H

#include <stdbool.h>

/* Takes over envp's; false if there is no memory. */
bool wf_environment_begin(char **envp);
/* The first value of the name, as getenv(3) finds it, or NULL. */
const char *wf_environment_get(const char *name);
/*
 * In the place of the first one, or at the end; others of the name go. False
 * without memory.
 */
bool wf_environment_set(const char *name, const char *value);
char **wf_environment_all(void);

#endif
