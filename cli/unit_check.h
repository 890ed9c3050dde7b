/* SPDX-License-Identifier: MIT */
/*
 * Finds the settings of a systemd unit that keep weft from working.
 *
 *     is_ok = wf_unit_check(&unit, command, library);
 */
#ifndef WEFT_CLI_UNIT_CHECK_H
#define WEFT_CLI_UNIT_CHECK_H

#include <stdbool.h>

#include "unit_file.h"

/* Prints a row for each setting that matters. Returns false if a setting keeps
 * weft from working. command and library are the paths of weft's files. */
bool wf_unit_check(const struct wf_unit *unit, const char *command,
		   const char *library);

#endif
