/* SPDX-License-Identifier: MIT */
/* Finds the settings of a unit that are in weft's way. */
#ifndef WEFT_CLI_UNIT_CHECK_H
#define WEFT_CLI_UNIT_CHECK_H

#include <stdbool.h>

#include "unit_file.h"

/* command, library: the paths of weft's own files. Prints a row for each
 * setting that matters; false if one is in the way. */
bool wf_unit_check(const struct wf_unit *unit, const char *command,
		   const char *library);

#endif
