/* SPDX-License-Identifier: MIT */
/*
 * The pieces of a name of Rust that begins with _R, and the text that is made
 * of them.
 *
 *     struct wf_rust_name n = { .begin = "NvC4shop4sell", .at = n.begin };
 *
 *     if (wf_rust_eat(&n, 'N'))
 *             wf_rust_put(&n, "::");
 */
#ifndef WEFT_CLI_SEE_RUST_TEXT_H
#define WEFT_CLI_SEE_RUST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WF_RUST_TEXT = 8192 }; /* bytes: a screen of 100 lines */

struct wf_rust_name {
	const char *begin, *at; /* begin: after "_R" */
	uint32_t depth, nr_parts, nr_lifetimes;
	bool is_wrong, is_silent; /* is_silent: nothing is written */
	size_t len;
	char text[WF_RUST_TEXT]; /* NUL stands at len */
};

struct wf_rust_identifier {
	const char *text;
	size_t len;
	bool is_punycode;
};

/* The name is none of Rust's: all that follows does nothing. */
void wf_rust_fail(struct wf_rust_name *n);
/* The next letter. NUL: there is none, which is a fault. */
char wf_rust_next(struct wf_rust_name *n);
/* Passes the next letter if it is this one. */
bool wf_rust_eat(struct wf_rust_name *n, char letter);
/* A number to the base of 62: "_" is 0, "0_" 1, "Z_" 62. */
uint64_t wf_rust_number(struct wf_rust_name *n);
/* A number behind a tag, counted from 1. 0: the tag is not there. */
uint64_t wf_rust_number_if(struct wf_rust_name *n, char tag);
struct wf_rust_identifier wf_rust_identifier(struct wf_rust_name *n);
/* Goes to the place that a reference names. Returns the place behind it. */
const char *wf_rust_go_back(struct wf_rust_name *n);

/* Around each recursive part. False: the name is wrong, or has too many. */
bool wf_rust_enter(struct wf_rust_name *n);
void wf_rust_leave(struct wf_rust_name *n);

void wf_rust_put_bytes(struct wf_rust_name *n, const char *text, size_t len);
void wf_rust_put(struct wf_rust_name *n, const char *text);
/* At most 63 bytes. */
__attribute__((format(printf, 2, 3))) void
wf_rust_put_formatted(struct wf_rust_name *n, const char *format, ...);
/* A control character is a fault: a terminal would obey it. */
void wf_rust_put_character(struct wf_rust_name *n, uint32_t character);
void wf_rust_put_identifier(struct wf_rust_name *n,
			    const struct wf_rust_identifier *id);

#endif
