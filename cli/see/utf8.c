/* SPDX-License-Identifier: MIT */
/*
 * Only the shortest form of a character is valid, and the halves of UTF-16's
 * pairs are none. So each text that is accepted here is accepted by any other
 * reader of UTF-8.
 */
#include "utf8.h"

/* Of a character with that many bytes: the least number, and the first byte. */
static const struct {
	uint32_t least;
	unsigned char first;
} forms[WF_SEE_UTF8_MOST + 1] = {
	[1] = { 0, 0 },
	[2] = { 0x80, 0xc0 },
	[3] = { 0x800, 0xe0 },
	[4] = { 0x10000, 0xf0 },
};

size_t wf_see_utf8_put(uint32_t c, char *ret_text)
{
	size_t n = 1;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	while (n < WF_SEE_UTF8_MOST && c >= forms[n + 1].least)
		n++;
	for (size_t i = n - 1; i > 0; i--) {
		ret_text[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	ret_text[0] = (char)(forms[n].first | c);
	return n;
}

size_t wf_see_utf8_at(const char *text)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t n = 1;
	uint32_t c;

	if (byte[0] < 0x80)
		return byte[0] != '\0';
	if (byte[0] < 0xc0 || byte[0] >= 0xf8)
		return 0;
	while (n < WF_SEE_UTF8_MOST && byte[0] >= forms[n + 1].first)
		n++;
	c = byte[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) { /* a NUL ends it */
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (byte[i] & 0x3f);
	}
	if (c < forms[n].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return n;
}

size_t wf_see_utf8_count(const char *text)
{
	size_t nr = 0;

	for (; *text != '\0'; nr++)
		text += wf_see_utf8_first(text, 1);
	return nr;
}

size_t wf_see_utf8_first(const char *text, size_t nr_characters)
{
	size_t bytes = 0;

	for (size_t i = 0; i < nr_characters && text[bytes] != '\0'; i++) {
		size_t n = wf_see_utf8_at(text + bytes);

		bytes += n != 0 ? n : 1;
	}
	return bytes;
}
