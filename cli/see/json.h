/* SPDX-License-Identifier: MIT */
/*
 * The threads as JSON, with the field names of the JDK's thread dump where they
 * fit.
 *
 *     wf_see_json(see, &table, is_wanted, arg);
 */
#ifndef WEFT_CLI_SEE_JSON_H
#define WEFT_CLI_SEE_JSON_H

#include "see.h"

/* Prints the threads in the given order, and the cycles, on stdout. */
void wf_see_json(const struct wf_see *see, const struct wf_see_table *table,
		 const struct wf_see_thread *const *order, uint32_t nr);
/* A string in quotes; bytes that are no UTF-8 become '?'. */
void wf_see_json_string(const char *text);

#endif
