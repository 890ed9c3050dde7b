/* SPDX-License-Identifier: MIT */
/*
 * Finds the version of this system's glibc.
 *
 *     if (wf_glibc_version(version, sizeof(version)))
 *             puts(version);
 */
#ifndef WEFT_CLI_GLIBC_H
#define WEFT_CLI_GLIBC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Stores the version, as "2.36", from the text that libc.so.6 prints when it is
 * executed. False if libc.so.6 is in none of the usual places.
 */
bool wf_glibc_version(char *ret_version, size_t size);

#endif
