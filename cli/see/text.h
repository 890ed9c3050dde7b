/* SPDX-License-Identifier: MIT */
/*
 * Sentences on threads, for people.
 *
 *     wf_see_describe(see, table, thread, text, sizeof(text));
 */
#ifndef WEFT_CLI_SEE_TEXT_H
#define WEFT_CLI_SEE_TEXT_H

#include "see.h"

enum { WF_SEE_TEXT = 256 };

/*
 * "mutex 0x55.. held by 4711 (worker)", "vp 1, carrier 321": what a thread
 * waits for, or where it runs.
 */
void wf_see_describe(const struct wf_see *see, const struct wf_see_table *table,
		     const struct wf_see_thread *t, char *ret_text,
		     size_t room);
/* "server+0x1234": an address by its file. */
void wf_see_place(const struct wf_see *see, uint64_t address, char *ret_text,
		  size_t room);
/* "12.3 s", "4 min"; "-" for 0. */
void wf_see_duration(int64_t ns, char *ret_text, size_t room);
/* The name of a system call that may wait, or NULL. */
const char *wf_see_call_name(long nr);

#endif
