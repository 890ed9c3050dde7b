/* SPDX-License-Identifier: MIT */
/*
 * Which of the programs that the program executes run on weft.
 *
 *     struct wf_children_env e;
 *
 *     execve(path, argv, wf_children_env(&e, AT_FDCWD, path, envp));
 *     wf_children_env_free(&e);	it failed
 *
 * All of it is safe in a signal handler and in a child of fork.
 */
#ifndef WEFT_BOOT_CHILDREN_H
#define WEFT_BOOT_CHILDREN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* --no-children: takes weft out of LD_PRELOAD, in place. */
void wf_children_spare_all(char **envp);

struct wf_children_env {
	void *memory; /* NULL: none was needed */
	size_t bytes;
};

/*
 * The environment for the program at `path`, relative to the descriptor dir:
 * envp, or a copy without weft if the program cannot load it.
 */
char *const *wf_children_env(struct wf_children_env *ret_e, int dir,
			     const char *path, char *const envp[]);
void wf_children_env_free(struct wf_children_env *e);

/* The file that execvp(3) would execute; NULL if there is none. */
const char *wf_children_find(const char *file, char ret_path[PATH_MAX]);

#endif
