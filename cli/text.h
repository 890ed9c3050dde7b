/* SPDX-License-Identifier: MIT */
/* Appending to strings, for code that may run without libc (bare.c). */
#ifndef WEFT_CLI_TEXT_H
#define WEFT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* An empty one, with its final 0; NULL without memory. Never freed. */
char *wf_text_new(size_t room);
/*
 * As much as fits into a buffer of `room` bytes, which holds a string already;
 * false if that was not all.
 */
bool wf_text_append(char *text, size_t room, const char *more);
bool wf_text_append_bytes(char *text, size_t room, const char *more,
			  size_t len);

#endif
