/* SPDX-License-Identifier: MIT */
/*
 * Applies SystemCallFilter= and SystemCallErrorNumber= to weft's system calls.
 *
 *     char missing[WF_UNIT_MISSING];
 *
 *     if (wf_unit_filter(&unit, missing) == WF_UNIT_KILLS)
 *             printf("SystemCallFilter=%s\n", missing);
 */
#ifndef WEFT_CLI_UNIT_FILTER_H
#define WEFT_CLI_UNIT_FILTER_H

#include "unit_file.h"

enum { WF_UNIT_MISSING = 2048 };

enum wf_unit_verdict {
	WF_UNIT_ALLOWS,	 /* all calls that weft needs */
	WF_UNIT_REFUSES, /* some of them, with an error */
	WF_UNIT_KILLS	 /* the service, at some of weft's calls */
};

/*
 * Stores in ret_missing the calls that have to be allowed, separated by spaces.
 */
enum wf_unit_verdict wf_unit_filter(const struct wf_unit *unit,
				    char ret_missing[WF_UNIT_MISSING]);

#endif
