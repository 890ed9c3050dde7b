/* SPDX-License-Identifier: MIT */
/*
 * Characters of UTF-8 in texts that may hold any bytes.
 *
 *     char text[WF_SEE_UTF8_MOST];
 *     size_t n = wf_see_utf8_put(0xf6, text);         2 bytes
 *
 *     n = wf_see_utf8_at("\xc3\xb6ffnen");            2, as put wrote it
 */
#ifndef WEFT_CLI_SEE_UTF8_H
#define WEFT_CLI_SEE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the longest character. */
enum { WF_SEE_UTF8_MOST = 4 };

/*
 * Writes a character without a NUL behind it. Returns the number of its bytes,
 * or 0 without a write: no character has this number.
 */
size_t wf_see_utf8_put(uint32_t character, char *ret_text);

/* The bytes of the text's first character, or 0: none begins there. */
size_t wf_see_utf8_at(const char *text);

/*
 * The bytes of the text's first characters, at most as many as given. A byte
 * that belongs to no character counts as one.
 */
size_t wf_see_utf8_first(const char *text, size_t nr_characters);

/* The characters of the text, counted in the same way. */
size_t wf_see_utf8_count(const char *text);

#endif
