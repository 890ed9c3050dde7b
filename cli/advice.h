/* SPDX-License-Identifier: MIT */
/*
 * Whether a program gains from weft, as far as its files tell: the functions
 * that the program and its libraries call, and the names of the libraries.
 *
 *     wf_advice_read("/usr/bin/server", true);
 *     wf_advice_read("/usr/lib/libnetwork.so.1", false);
 *     puts(wf_advice());
 */
#ifndef WEFT_CLI_ADVICE_H
#define WEFT_CLI_ADVICE_H

#include <stdbool.h>

/* Notes the functions that the file calls. is_program: the file is the program
 * itself and not one of its libraries. */
void wf_advice_read(const char *path, bool is_program);

/*
 * Returns one sentence: "yes: REASON", "no: REASON", or "measure: REASON" where
 * the files do not decide it. It names the functions that gave the reason.
 */
const char *wf_advice(void);

#endif
