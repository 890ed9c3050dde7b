/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust as their sources have them.
 *
 *     char *name = wf_see_demangle("_ZN4shop4sellEi");    "shop::sell(int)"
 */
#ifndef WEFT_CLI_SEE_DEMANGLE_H
#define WEFT_CLI_SEE_DEMANGLE_H

/*
 * A copy of the name, with the endings left out that compilers and linkers
 * append. The caller frees it. NULL: no memory.
 */
char *wf_see_demangle(const char *name);

#endif
