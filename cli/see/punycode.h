/* SPDX-License-Identifier: MIT */
/*
 * Words with characters beyond ASCII, written in ASCII (RFC 3492).
 *
 *     uint32_t word[64];
 *     size_t nr = wf_see_punycode("gre", 3, "6ka8i", 5, word, 64);
 *
 * word has the five characters of "größe" then.
 */
#ifndef WEFT_CLI_SEE_PUNYCODE_H
#define WEFT_CLI_SEE_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * basic has the word's characters of ASCII, code the places and the numbers of
 * the others. Returns the number of characters, or 0: the code is wrong or
 * empty, or the word has more than room.
 */
size_t wf_see_punycode(const char *basic, size_t basic_len, const char *code,
		       size_t code_len, uint32_t *ret_word, size_t room);

#endif
