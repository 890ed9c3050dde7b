/* SPDX-License-Identifier: MIT */
/*
 * A character is inserted for each number of the code. The number says how many
 * steps lie between this insertion and the one before: a step goes to the next
 * place, and behind the last place to the first with the next character.
 * Numbers have a variable length. Thresholds say which digit is the last, and
 * adapt to the size of the numbers before.
 */
#include "punycode.h"

#include <stdbool.h>
#include <string.h>

/* The parameters of RFC 3492, section 5. */
enum {
	BASE = 36,
	T_MIN = 1,
	T_MAX = 26,
	SKEW = 38,
	DAMP = 700,
	FIRST_BIAS = 72,
	FIRST_CHARACTER = 128,
	MOST = 0x10ffff
};

static uint32_t digit_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a');
	return c >= '0' && c <= '9' ? (uint32_t)(c - '0') + 26 : BASE;
}

static uint32_t threshold(uint32_t k, uint32_t bias)
{
	if (k <= bias + T_MIN)
		return T_MIN;
	return k >= bias + T_MAX ? T_MAX : k - bias;
}

/* Reads a number from *code. False: it has no end, or is too large. */
static bool read_number(const char **code, const char *end, uint32_t bias,
			uint64_t *ret_number)
{
	uint64_t number = 0, weight = 1;

	for (uint32_t k = BASE; *code < end; k += BASE) {
		uint32_t digit = digit_of(*(*code)++);
		uint32_t t = threshold(k, bias);

		if (digit == BASE)
			return false;
		number += digit * weight;
		if (digit < t) {
			*ret_number = number;
			return true;
		}
		weight *= BASE - t;
		if (number > UINT32_MAX || weight > UINT32_MAX)
			return false;
	}
	return false;
}

static uint32_t adapt(uint64_t number, size_t nr, bool is_first)
{
	uint32_t k = 0;

	number /= is_first ? DAMP : 2;
	number += number / nr;
	for (; number > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		number /= BASE - T_MIN;
	return k + (uint32_t)((BASE - T_MIN + 1) * number / (number + SKEW));
}

size_t wf_see_punycode(const char *basic, size_t basic_len, const char *code,
		       size_t code_len, uint32_t *ret_word, size_t room)
{
	const char *end = code + code_len;
	uint32_t bias = FIRST_BIAS;
	uint64_t c = FIRST_CHARACTER, at = 0, number;
	size_t nr = basic_len;

	if (basic_len > room || code_len == 0)
		return 0;
	for (size_t i = 0; i < basic_len; i++)
		ret_word[i] = (unsigned char)basic[i];
	for (bool is_first = true; code < end; is_first = false) {
		if (nr == room || !read_number(&code, end, bias, &number))
			return 0;
		nr++;
		bias = adapt(number, nr, is_first);
		at += number;
		c += at / nr;
		at %= nr;
		if (c > MOST)
			return 0;
		memmove(ret_word + at + 1, ret_word + at,
			(nr - 1 - at) * sizeof(*ret_word));
		ret_word[at++] = (uint32_t)c;
	}
	return nr;
}
