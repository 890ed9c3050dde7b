/* SPDX-License-Identifier: MIT */
/*
 * The features of the system that weft uses: a table of questions, each with a
 * function that tries the feature. Version numbers are not used.
 *
 *     for (size_t i = 0; i < wf_nr_system_rows; i++)
 *             can_run &= wf_system_rows[i].ask(text);
 */
#ifndef WEFT_CLI_SYSTEM_H
#define WEFT_CLI_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>

#define WF_SYSTEM_TEXT 160

struct wf_system_row {
	const char *name;
	/*
	 * Writes the answer, or "" if the question does not apply here. Returns
	 * false if weft cannot work here.
	 */
	bool (*ask)(char ret_text[WF_SYSTEM_TEXT]);
};

extern const struct wf_system_row wf_system_rows[];
extern const size_t wf_nr_system_rows;

#endif
