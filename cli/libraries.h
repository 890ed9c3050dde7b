/* SPDX-License-Identifier: MIT */
/*
 * The libraries of a program, for `weft doctor --libraries`.
 *
 *     wf_libraries_visit(&target, visit, arg);
 *
 * Calls visit once for each file: those that the program's dynamic loader finds
 * for it, and those below the folders of its RUNPATH that are relative to the
 * program ($ORIGIN), since programs such as java load them by dlopen. Runs the
 * loader with --list, which executes no code of the program.
 */
#ifndef WEFT_CLI_LIBRARIES_H
#define WEFT_CLI_LIBRARIES_H

#include "target.h"

/* False: the loader could not be run, or has not found them all. */
bool wf_libraries_visit(const struct wf_target *target,
			void (*visit)(const char *path, void *arg), void *arg);

#endif
