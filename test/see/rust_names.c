/* SPDX-License-Identifier: MIT */
/*
 * Names that rustc 1.63 and 1.95 have made, what their sources say, and names
 * that no compiler makes: those stay as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "see/demangle.h"
#include "see/rust_name.h"

static int nr_wrong;

#define CORE "CsgEmfK2I1SDS_4core"
#define ALLOC "CslNYArtu3iFV_5alloc"
#define HERE "Cs6xxl1lAjzDf_1a"

static const struct {
	const char *name, *source;
} names[] = {
	/* --- the older form ---------------------------------------------- */
	{ "_ZN4shop4sell17h0123456789abcdefE", "shop::sell" },
	{ "_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$"
	  "17h8c2d3e4f5a6b7c8dE",
	  "core::ptr::drop_in_place<alloc::vec::Vec<u8>>" },
	{ "_ZN71_$LT$core..ops..range..Range$LT$Idx$GT$$u20$as$u20$core..fmt.."
	  "Debug$GT$3fmt17he6f1a0b2c3d4e5f6E",
	  "<core::ops::range::Range<Idx> as core::fmt::Debug>::fmt" },
	{ "_ZN1a4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	  "a::main::{{closure}}" },
	{ "_ZN1a13gr$uf6$$udf$e17h0123456789abcdefE", "a::gr\u00f6\u00dfe" },
	{ "_ZN1a12$uF6$$$XY$u$17h0123456789abcdefE", "a::$uF6$$$XY$u$" },
	{ "_ZN1a7_$RF$x.17h0123456789abcdefE", "a::&x." },
	{ "_ZN1a5$u1b$17h0123456789abcdefE", "a::$u1b$" },
	{ "_ZN1a7$ud800$17h0123456789abcdefE", "a::$ud800$" },
	{ "_ZN4shop4sell17h0123456789abcdefE.llvm.123", "shop::sell" },
	{ "_ZN4shop4sell17h0123456789abcdeFE", NULL },
	{ "_ZN17h0123456789abcdefE", NULL },
	{ "_ZN4shop99sell17h0123456789abcdefE", NULL },
	{ "_ZN99999999999999999999999shop17h0123456789abcdefE", NULL },
	{ "_ZN4shop4sellEi", NULL }, /* C++ */
	/* --- paths ------------------------------------------------------- */
	{ "_RNvC4shop4sell", "shop::sell" },
	{ "_RNvNtC4shop5money3pay", "shop::money::pay" },
	{ "_RNv" HERE "4main", "a::main" },
	{ "_RNvC4shop4sell.llvm.123", "shop::sell" },
	{ "_RNvC4shop4sell$more", "shop::sell" },
	{ "_RINv" HERE "5takesNCNCNvB2_4mains1_00EB2_",
	  "a::takes::<a::main::{closure#3}::{closure#0}>" },
	{ "_RNCNvC4shop4sells_4name", "shop::sell::{closure:name#1}" },
	{ "_RNSC4shops0_6vtable", "shop::{shim:vtable#2}" },
	{ "_RNXC4shop0", "shop::{X#0}" },
	{ "_RINvMs_Nt" HERE "4shopINtB5_4TillThINtNt" CORE
	  "6option6OptionReEEE4openNCNvB7_4main0EB7_",
	  "<a::shop::Till<(u8, core::option::Option<&str>)>>"
	  "::open::<a::main::{closure#0}>" },
	{ "_RNvXs_C4shopNtB4_4TillNtB4_4Sell4sell",
	  "<shop::Till as shop::Sell>::sell" },
	{ "_RNvYNtC4shop4TillNtB4_4Sell4sell",
	  "<shop::Till as shop::Sell>::sell" },
	{ "_RNvC4shopu9gre_6ka8i", "shop::gr\u00f6\u00dfe" },
	{ "_RNvC4shopu7_1lqs71d", "shop::\u6771\u4eac" },
	{ "_RNvC4shopu4gre_", NULL },
	{ "_RNvC4shopu8gre_6ka8", NULL },
	{ "_RNvC4shopu9gre_99999", NULL },
	/* --- types ------------------------------------------------------- */
	{ "_RINv" HERE "3fnpFEzEB2_", "a::fnp::<fn() -> !>" },
	{ "_RINv" HERE "3fnpFG_QL0_hRL0_nEINtNt" ALLOC "5boxed3BoxDINtNtNt" CORE
	  "3ops8function2FnTRL0_hEEp6OutputyEL0_EEB2_",
	  "a::fnp::<for<'a> fn(&'a mut u8, &'a i128) -> alloc::boxed::Box<dyn "
	  "core::ops::function::Fn<(&'a u8,), Output = u64> + 'a>>" },
	{ "_RINv" HERE "3fnpFK6systemEuEB2_",
	  "a::fnp::<extern \"system\" fn()>" },
	{ "_RINvC1a1fFUK8C_unwindvEuE",
	  "a::f::<unsafe extern \"C-unwind\" fn(...)>" },
	{ "_RINv" HERE "3fnpFKCPhOlEuEB2_",
	  "a::fnp::<extern \"C\" fn(*const u8, *mut i32)>" },
	{ "_RINv" HERE "3fnpFUdEaEB2_", "a::fnp::<unsafe fn(f64) -> i8>" },
	{ "_RINv" HERE "3fnpTuThETiocbfEEEB2_",
	  "a::fnp::<((), (u8,), (isize, u128, char, bool, f32))>" },
	{ "_RINv" HERE "5takesDNtNt" CORE "3fmt5DebugNtNtBt_6marker4SyncNtBY_4"
	  "SendEL_EB2_",
	  "a::takes::<dyn core::fmt::Debug + core::marker::Sync"
	  " + core::marker::Send>" },
	{ "_RINv" HERE "5takesDNtNtNtNt" CORE
	  "4iter6traits8iterator8Iteratorp4ItemThEEL_EB2_",
	  "a::takes::<dyn core::iter::traits::iterator::Iterator"
	  "<Item = (u8,)>>" },
	{ "_RINvC1a1fINtC1b3VecpEE", "a::f::<b::Vec<_>>" },
	{ "_RINvC1a1fSAtj3_E", "a::f::<[[u16; 3]]>" },
	{ "_RINvC1a1fL_Lz_E", NULL },
	{ "_RINvC1a1fL_E", "a::f::<'_>" },
	{ "_RINvC1a1fFGp_RL0_xRLq_yEuE",
	  "a::f::<for<'a, 'b, 'c, 'd, 'e, 'f, 'g, 'h, 'i, 'j, 'k, 'l, 'm, 'n,"
	  " 'o, 'p, 'q, 'r, 's, 't, 'u, 'v, 'w, 'x, 'y, 'z, '_26>"
	  " fn(&'_26 i64, &'a u64)>" },
	{ "_RINvC1a1fFGzzz_uEuE", NULL },
	/* --- constants --------------------------------------------------- */
	{ "_RINv" HERE "2chKc27_Kb0_Ks12c_EB2_", "a::ch::<'\\'', false, 300>" },
	{ "_RINv" HERE "2chKc6771_Kb0_Ks0_EB2_",
	  "a::ch::<'\u6771', false, 0>" },
	{ "_RINv" HERE "2chKc78_Kb1_Ksn5_EB2_", "a::ch::<'x', true, -5>" },
	{ "_RINvC1a1fKca_Kc1b_Kc0_E", "a::f::<'\\n', '\\u{1b}', '\\0'>" },
	{ "_RINvC1a1fKoffffffffffffffff_Ko10000000000000000_E",
	  "a::f::<18446744073709551615, 0x10000000000000000>" },
	{ "_RINvC1a1fKpKj007_E", "a::f::<_, 7>" },
	{ "_RINvC1a1fKj2_KB8_E", "a::f::<2, 2>" },
	{ "_RINvC1a1fKcd800_E", NULL },
	{ "_RINvC1a1fKb2_E", NULL },
	{ "_RINvC1a1fKj7E", NULL },
	{ "_RINvC1a1fKz7_E", NULL },
	/* --- none of rustc's --------------------------------------------- */
	{ "_R", NULL },
	{ "_RNvC4shop", NULL },
	{ "_RNvC4shop9sell", NULL },
	{ "_RNvC4shop4sell4", NULL },
	{ "_R1NvC4shop4sell", NULL }, /* a later version */
	{ "_RNvC4shop4se\033l", NULL },
	{ "_RN0C4shop4sell", NULL },
	{ "_RB_", NULL },
	{ "_RNvB_4sell", NULL },
	{ "_RNvBzzzzzzzzzzzzzzzzzzz_4sell", NULL },
	{ "_RNvC99999999999999999999shop4sell", NULL },
	{ "_Restart", NULL },
	{ "main", NULL },
	{ "", NULL },
};

static void check(const char *name, const char *found, const char *expected)
{
	if (strcmp(found, expected) == 0)
		return;
	printf("%s\nis     %s\nshould %s\n", name, found, expected);
	nr_wrong++;
}

static void check_name(const char *name, const char *source)
{
	char *found = wf_see_rust_name(name);

	check(name, found != NULL ? found : "none", source ? source : "none");
	free(found);
}

/* The command's frames have these names. */
static void check_command(const char *name, const char *source)
{
	char *found = wf_see_demangle(name);

	check(name, found, source);
	free(found);
}

/* The name is too deep or too long. */
static void check_repeated(const char *before, int nr, const char *end)
{
	size_t n = strlen(before) * (size_t)nr + strlen(end) + 3;
	char *name = calloc(1, n);

	strcpy(name, "_R");
	for (int i = 0; i < nr; i++)
		memcpy(name + 2 + strlen(before) * (size_t)i, before,
		       strlen(before));
	strcat(name, end);
	check_name(name, NULL);
	free(name);
}

static char *put_reference(char *to, size_t place)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*to++ = 'B'; /* place - 1 in two digits */
	*to++ = digits[(place - 1) / 62];
	*to++ = digits[(place - 1) % 62];
	*to++ = '_';
	return to;
}

/* Each argument of the path is a pair of the argument before it. */
static void check_doubled(const char *path, int nr, const char *end,
			  const char *source)
{
	char name[1024], *to;
	size_t last = strlen(path);

	to = name + sprintf(name, "_R%sTuuE", path);
	while (nr-- > 0) {
		size_t place = (size_t)(to - name) - 2;

		*to++ = 'T';
		to = put_reference(put_reference(to, last), last);
		*to++ = 'E';
		last = place;
	}
	strcpy(to, end);
	check_name(name, source);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_name(names[i].name, names[i].source);
	check_command("_RNvC4shop4sell.llvm.12", "shop::sell");
	check_command("_RNvC4shop4sell.cold", "shop::sell");
	check_command("_ZN4shop4sell17h0123456789abcdefE", "shop::sell");
	check_command("_RNvC4shop", "_RNvC4shop");
	/* Deep, long, and of exponential size. */
	check_repeated("Nv", 1000, "C1a1b");
	check_repeated("Nv", 1000000, "C1a1b");
	check_repeated("INvC1a1fS", 300, "uE");
	check_doubled("INvC1a1f", 1, "E",
		      "a::f::<((), ()), (((), ()), ((), ()))>");
	check_doubled("INvC1a1f", 50, "E", NULL);
	check_doubled("MINvC1a1f", 1, "Eh", "<u8>");
	check_doubled("MINvC1a1f", 50, "Eh", NULL);
	printf("%d wrong\n", nr_wrong);
	return nr_wrong != 0;
}
