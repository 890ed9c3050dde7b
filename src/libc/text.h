/* SPDX-License-Identifier: MIT */
/*
 * Tells which library a code address belongs to: ranges of executable memory,
 * read once at start.
 *
 *     if (wf_text_of(pc) == WF_TEXT_LIBC)
 *             return false;
 */
#ifndef WEFT_LIBC_TEXT_H
#define WEFT_LIBC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_text {
	WF_TEXT_PROGRAM = 0, /* any other code */
	WF_TEXT_LIBC,	     /* libc or ld.so: may hold a lock */
	WF_TEXT_LEAF,	     /* string functions of libc: as their caller */
	WF_TEXT_WEFT,
	WF_TEXT_PREEMPTIBLE, /* WF_PREEMPTIBLE */
};

void wf_text_init(void);
/*
 * True if the program or one of its libraries asks for executable stacks: C's
 * nested functions put code there.
 */
bool wf_text_is_on_stacks(void);
/* May be called in a signal handler. */
enum wf_text wf_text_of(uintptr_t pc);
/* The address of this code in libc; 0 if libc does not contain it. */
uintptr_t wf_text_find(const void *code, size_t bytes);

#endif
