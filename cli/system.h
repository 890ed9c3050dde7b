/* SPDX-License-Identifier: MIT */
/*
 * What a system offers that weft makes use of: one row a question, asked of
 * the system itself, never of a version number.
 */
#ifndef WEFT_CLI_SYSTEM_H
#define WEFT_CLI_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

#define WF_SYSTEM_TEXT 160

struct wf_system_row {
	const char *name;
	/*
	 * Writes the answer, or leaves "" if the question makes no sense here.
	 * Returns false if weft cannot work here.
	 */
	bool (*ask)(char ret_text[WF_SYSTEM_TEXT]);
};

extern const struct wf_system_row wf_system_rows[];
extern const size_t wf_nr_system_rows;

#endif
