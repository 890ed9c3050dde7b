/* SPDX-License-Identifier: MIT */
/*
 * Names of Rust with bytes of the input in them. Each is refused, or becomes a
 * text of UTF-8 without control characters and within the limit, and soon.
 *
 * An input is a name. Its first byte says from which real name it is made, and
 * each two bytes behind that are a place and a letter. Or the bytes are letters
 * of a whole name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "see/rust_name.h"
#include "see/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 8192, ROOM = 1024 };

static const char *const real[] = {
	"_RINvMs_NtCs6xxl1lAjzDf_1a4shopINtB5_4TillThINtNtCsgEmfK2I1SDS_4core6"
	"option6OptionReEEE4openNCNvB7_4main0EB7_",
	"_RINvCs6xxl1lAjzDf_1a3fnpFG_QL0_hRL0_nEINtNtCslNYArtu3iFV_5alloc5boxed"
	"3BoxDINtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTRL0_hEEp6OutputyEL0_E"
	"EB2_",
	"_RINvCs6xxl1lAjzDf_1a2chKc6771_Kb0_Ks12c_EB2_",
	"_RNvCs6xxl1lAjzDf_1au19gre__wna1ln619cmotb",
	"_RINvC1a1fFUK8C_unwindvEuATTuuEBa_Bc_EKj10_KB8_E",
	"_ZN71_$LT$core..ops..range..Range$LT$Idx$GT$$u20$as$u20$core..fmt.."
	"Debug$GT$3fmt17he6f1a0b2c3d4e5f6E",
};

/* In names, and a few that are not. */
static const char letters[] = "BBBBIINNMXYCTTTDSSAFRQPOKLGUEEEE"
			      "__0123456789abcdefhijlmnopstuvxyzs_"
			      "ZaVv$.u7$LT$17hE\n\x1b\xc3\xff~";

static void require(int holds, const char *what, const char *name)
{
	if (!holds) {
		fprintf(stderr, "fuzz_rust_name: %s: %s\n", what, name);
		abort();
	}
}

static void check_text(const char *text, const char *name)
{
	require(strlen(text) < MOST_BYTES, "too long", name);
	while (*text != '\0') {
		size_t n = wf_see_utf8_at(text);

		require(n != 0, "no UTF-8", name);
		require(n > 1 || (*text >= ' ' && *text != 127), "control",
			name);
		text += n;
	}
}

static void check(const char *name)
{
	char *text = wf_see_rust_name(name);

	if (text != NULL)
		check_text(text, name);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[ROOM];
	size_t len;

	if (size == 0 || size > ROOM - 4)
		return 0;
	strcpy(name, real[data[0] % (sizeof(real) / sizeof(real[0]))]);
	len = strlen(name);
	for (size_t i = 1; i + 1 < size && i < 16; i += 2) {
		name[2 + data[i] % (len - 2)] =
			letters[data[i + 1] % (sizeof(letters) - 1)];
		check(name);
	}
	strcpy(name, data[0] % 8 == 0 ? "_ZN" : "_R");
	len = strlen(name);
	for (size_t i = 1; i < size; i++)
		name[len++] = letters[data[i] % (sizeof(letters) - 1)];
	name[len] = '\0';
	check(name);
	return 0;
}
