/* SPDX-License-Identifier: MIT */
/*
 * Differences that a program meets on weft, by the functions that it calls.
 *
 *     wf_differs_read("/usr/bin/server");
 *     wf_differs_report(print);
 */
#ifndef WEFT_CLI_DIFFERS_H
#define WEFT_CLI_DIFFERS_H

#include <stdbool.h>

enum { WF_DIFFERS_TEXT = 1024 };

/* Notes the functions that a file takes from its libraries. False: it cannot be
 * read. */
bool wf_differs_read(const char *path);

/*
 * Calls tell once for each reason of deviations.h that the noted functions
 * give: "NAME, NAME: text".
 */
void wf_differs_report(void (*tell)(const char *text));

#endif
