/* SPDX-License-Identifier: MIT */
/*
 * Finds the libraries of a program, for `weft doctor --libraries`.
 *
 *     wf_libraries_visit(&target, visit, arg);
 *
 * Calls visit once for each library that the program's dynamic loader finds.
 * Then visits the libraries below the folders of its RUNPATH that are relative
 * to the program ($ORIGIN): programs such as java load these by dlopen. Runs
 * the loader with --list, which executes no code of the program.
 */
#ifndef WEFT_CLI_LIBRARIES_H
#define WEFT_CLI_LIBRARIES_H

#include "target.h"

/* False if the loader could not be run, or did not find all libraries. */
bool wf_libraries_visit(const struct wf_target *target,
			void (*visit)(const char *path, void *arg), void *arg);

#endif
