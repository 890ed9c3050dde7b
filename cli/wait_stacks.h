/* SPDX-License-Identifier: MIT */
/*
 * The stacks of threads that wait, for weft threads --waits.
 *
 *     struct wf_wait_stacks *stacks = wf_wait_stacks_new(see);
 *
 *     if (wf_wait_stacks_read(stacks, thread))
 *             wf_wait_stacks_print(stacks, "    ");
 *     wf_wait_stacks_free(stacks);
 *
 * No thread is stopped, so one that runs has no stack. In a build without libdw
 * no thread has one.
 */
#ifndef WEFT_CLI_WAIT_STACKS_H
#define WEFT_CLI_WAIT_STACKS_H

#include "see/see.h"

struct wf_wait_stacks;
/* NULL: no memory. */
struct wf_wait_stacks *wf_wait_stacks_new(const struct wf_see *see);
void wf_wait_stacks_free(struct wf_wait_stacks *stacks);

/* False: the thread has no stack, or has gone on. */
bool wf_wait_stacks_read(struct wf_wait_stacks *stacks,
			 const struct wf_see_thread *thread);

/* These are of the thread that was read last. */
/* The program's line: "shop.c:5", or "shop+0x11df" without debug data. */
void wf_wait_stacks_line(struct wf_wait_stacks *stacks, char *ret_text,
			 size_t room);
/* A line for each frame, after `indent`. */
void wf_wait_stacks_print(struct wf_wait_stacks *stacks, const char *indent);
/* A string for each frame, between commas. */
void wf_wait_stacks_json(struct wf_wait_stacks *stacks);

#endif
