/* SPDX-License-Identifier: MIT */
/*
 * The demangler of GCC's libsupc++, or none in a build without that.
 *
 *     char *name = wf_see_demangler("_ZN4shop4sellEi");
 */
#ifndef WEFT_CLI_SEE_DEMANGLER_H
#define WEFT_CLI_SEE_DEMANGLER_H

/* NULL: not a name of C++, or there is no demangler. The caller frees it. */
char *wf_see_demangler(const char *name);

#endif
