/* SPDX-License-Identifier: MIT */
/*
 * Equal stacks of threads, for weft stacks and what prints them.
 *
 *     wf_stacks_print(see, &objects, groups, nr);
 */
#ifndef WEFT_CLI_STACKS_H
#define WEFT_CLI_STACKS_H

#include "see/objects.h"
#include "see/stack.h"

/* Threads in one state, with frames at the same addresses. */
struct wf_stack_group {
	enum wf_see_state state;
	enum wf_see_end end;
	uint32_t nr_frames;
	struct wf_see_frame *frames;
	const struct wf_see_thread **threads;
	uint32_t nr;
};

void wf_stacks_print(const struct wf_see *see, struct wf_see_objects *objects,
		     const struct wf_stack_group *groups, uint32_t nr);

#endif
