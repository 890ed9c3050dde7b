/* SPDX-License-Identifier: MIT */
/*
 * Decides which of the programs that the process executes run on weft.
 *
 *     struct wf_children_env e;
 *
 *     execve(path, argv, wf_children_env(&e, AT_FDCWD, path, envp));
 *     wf_children_env_free(&e);	execve has failed
 *
 * All functions are safe in a signal handler and in a child of fork.
 */
#ifndef WEFT_BOOT_CHILDREN_H
#define WEFT_BOOT_CHILDREN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * For --no-children: removes weft from LD_PRELOAD and GLIBC_TUNABLES in envp
 * itself.
 */
void wf_children_spare_all(char **envp);

struct wf_children_env {
	void *memory; /* the copy; NULL if envp needs none */
	size_t bytes;
};

/*
 * Returns the environment for the program at `path`, relative to the directory
 * descriptor `dir`. That is a copy of envp without weft if the program cannot
 * load weft. Otherwise it is envp itself, and also if there is no memory for a
 * copy.
 */
char *const *wf_children_env(struct wf_children_env *ret_e, int dir,
			     const char *path, char *const envp[]);
void wf_children_env_free(struct wf_children_env *e);

/* Returns the file that execvp(3) would execute, or NULL if there is none. */
const char *wf_children_find(const char *file, char ret_path[PATH_MAX]);

#endif
