/* SPDX-License-Identifier: MIT */
/*
 * Names of Rust as its sources have them, without the hashes of the crates.
 *
 *     char *name = wf_see_rust_name("_RNvC4shop4sell");         "shop::sell"
 *     char *old = wf_see_rust_name(
 *             "_ZN4shop4sell17h0123456789abcdefE");             the same
 */
#ifndef WEFT_CLI_SEE_RUST_NAME_H
#define WEFT_CLI_SEE_RUST_NAME_H

/*
 * A copy, to be freed, of at most 8 KiB. NULL: there is no memory, or this is
 * not a name that rustc makes. The name may hold any bytes.
 */
char *wf_see_rust_name(const char *name);

/* The same, of the names that begin with _R ("v0" of rustc). */
char *wf_see_rust_v0(const char *name);

#endif
