/* SPDX-License-Identifier: MIT */
/*
 * The parts of `weft core`.
 *
 *     err = wf_core_create(path, &out);
 */
#ifndef WEFT_CLI_CORE_H
#define WEFT_CLI_CORE_H

#include "core_file.h"

/*
 * Opens a file to write a core to: "-" is the standard output. A core
 * has what the program knew, so only its owner may read a new file. Returns 0
 * or -Exxx.
 */
int wf_core_create(const char *path, struct wf_core_output *ret_out);

/* weft core PID OUT. Returns the exit status. */
int wf_core_live(const char *pid, const char *out);

#endif
