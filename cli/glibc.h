/* SPDX-License-Identifier: MIT */
/* Which glibc this system has. */
#ifndef WEFT_CLI_GLIBC_H
#define WEFT_CLI_GLIBC_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "2.36", from the text that libc.so.6 prints when it is executed; false if
 * there is none in the usual places.
 */
bool wf_glibc_version(char *ret_version, size_t size);

#endif
