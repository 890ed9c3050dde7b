/* SPDX-License-Identifier: MIT */
/* Whose code is it? Ranges of executable memory, taken once at start. */
#ifndef WEFT_LIBC_TEXT_H
#define WEFT_LIBC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_text {
	WF_TEXT_PROGRAM = 0, /* anybody else's */
	WF_TEXT_LIBC,	     /* libc or ld.so: may hold a lock */
	WF_TEXT_LEAF,	     /* libc's string functions: as their caller */
	WF_TEXT_WEFT,
	WF_TEXT_PREEMPTIBLE, /* WF_PREEMPTIBLE */
};

void wf_text_init(void);
/*
 * The program, or one of its libraries, asks for stacks where code may be
 * executed: C's nested functions put some there.
 */
bool wf_text_is_on_stacks(void);
/* May be called in a signal handler. */
enum wf_text wf_text_of(uintptr_t pc);
/* Where libc has this code; 0 if nowhere. */
uintptr_t wf_text_find(const void *code, size_t bytes);

#endif
