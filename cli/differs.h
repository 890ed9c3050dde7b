/* What of a program is different on weft: by the functions that it calls. */
#ifndef WEFT_CLI_DIFFERS_H
#define WEFT_CLI_DIFFERS_H

#include <stddef.h>

enum { WF_DIFFERS_TEXT = 1024 };

/*
 * Calls tell once for each reason of deviations.h that the program's own
 * imports give: "NAME, NAME: text". What its libraries call is not looked at.
 */
void wf_differs(const char *path, void (*tell)(const char *text));

#endif
