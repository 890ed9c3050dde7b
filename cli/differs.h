/* SPDX-License-Identifier: MIT */
/*
 * Collects the differences that a program may notice on weft, from the
 * functions that it calls.
 *
 *     wf_differs_read("/usr/bin/server");
 *     wf_differs_report(print);
 */
#ifndef WEFT_CLI_DIFFERS_H
#define WEFT_CLI_DIFFERS_H

#include <stdbool.h>

enum { WF_DIFFERS_TEXT = 1024 };

/* Notes the functions that a file imports from its libraries. False if the file
 * cannot be read. */
bool wf_differs_read(const char *path);

/*
 * Calls tell once for each reason of deviations.h that concerns a noted
 * function, with "NAME, NAME: text".
 */
void wf_differs_report(void (*tell)(const char *text));

#endif
