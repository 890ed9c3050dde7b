/* SPDX-License-Identifier: MIT */
/*
 * Appends to strings, also for code without libc (bare.c).
 *
 *     wf_text_append(path, PATH_MAX, "/libweft.so");
 */
#ifndef WEFT_CLI_TEXT_H
#define WEFT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Makes an empty string in `room` bytes, its final 0 included. NULL without
 * memory. Never freed.
 */
char *wf_text_new(size_t room);
/*
 * Appends to the string in a buffer of `room` bytes as much as fits. False if
 * that was not all.
 */
bool wf_text_append(char *text, size_t room, const char *more);
bool wf_text_append_bytes(char *text, size_t room, const char *more,
			  size_t len);

#endif
